/* SPDX-License-Identifier: Apache-2.0 */
/* 128-bit AES-NI and PCLMULQDQ, for any CPU with AES instructions. */
#if defined(__x86_64__)

#define VEC_BYTES 16
#define VEC_TARGET __attribute__((target("aes,pclmul,sse4.1,ssse3")))
#define KERNEL(name) name##_aesni

#include "ciphers/cbc_template.h"
#include "ciphers/dispatch.h"
#include "ciphers/gcm_template.h"
#include "ciphers/keysched.h"

const struct aesop_kernels aesop_kernels_aesni = {
    .name = "aesni",
    .batch_blocks = GCM_BATCH_BLOCKS,
    .max_powers = GCM_MAX_POWERS,
    .aes_expand_enc = aesop_aes_expand_enc_aesni,
    .aes_expand_dec = aesop_aes_expand_dec_aesni,
    .aes_enc_block = aesop_aes_enc_block_aesni,
    .cbc_enc = aesop_cbc_enc_aesni,
    .cbc_dec = cbc_dec_aesni,
    .cbc_dec_nt = cbc_dec_nt_aesni,
    .gcm_expand = aesop_gcm_expand_aesni,
    .gcm_powers = gcm_powers_aesni,
    .gcm_start = gcm_start_aesni,
    .gcm_hash = gcm_hash_aesni,
    .gcm_enc = gcm_enc_aesni,
    .gcm_dec = gcm_dec_aesni,
    .gcm_enc_nt = gcm_enc_nt_aesni,
    .gcm_dec_nt = gcm_dec_nt_aesni,
    .gcm_tag = gcm_tag_aesni,
};

#else
typedef int aesop_kernels_aesni_need_x86_64; /* ISO C wants a declaration in every file */
#endif
