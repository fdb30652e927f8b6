/* SPDX-License-Identifier: Apache-2.0 */
/* 256-bit VAES and VPCLMULQDQ, for CPUs without AVX-512. */
#if defined(__x86_64__)

#define VEC_BYTES 32
#define VEC_TARGET __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes256

#include "ciphers/cbc_template.h"
#include "ciphers/dispatch.h"
#include "ciphers/gcm_template.h"
#include "ciphers/keysched.h"

const struct aesop_kernels aesop_kernels_vaes256 = {
    .name = "vaes256",
    .batch_blocks = GCM_BATCH_BLOCKS,
    .max_powers = GCM_MAX_POWERS,
    .aes_expand_enc = aesop_aes_expand_enc_aesni,
    .aes_expand_dec = aesop_aes_expand_dec_aesni,
    .aes_enc_block = aesop_aes_enc_block_aesni,
    .cbc_enc = aesop_cbc_enc_aesni,
    .cbc_dec = cbc_dec_vaes256,
    .cbc_dec_nt = cbc_dec_nt_vaes256,
    .gcm_expand = aesop_gcm_expand_aesni,
    .gcm_powers = gcm_powers_vaes256,
    .gcm_start = gcm_start_vaes256,
    .gcm_hash = gcm_hash_vaes256,
    .gcm_enc = gcm_enc_vaes256,
    .gcm_dec = gcm_dec_vaes256,
    .gcm_enc_nt = gcm_enc_nt_vaes256,
    .gcm_dec_nt = gcm_dec_nt_vaes256,
    .gcm_tag = gcm_tag_vaes256,
};

#else
typedef int aesop_kernels_vaes256_need_x86_64; /* ISO C wants a declaration in every file */
#endif
