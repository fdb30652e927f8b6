/* SPDX-License-Identifier: Apache-2.0 */
/* 512-bit VAES and VPCLMULQDQ with AVX-512. */
#if defined(__x86_64__)

#define VEC_BYTES 64
#define VEC_TARGET __attribute__((target("aes,pclmul,avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes512

#include "ciphers/cbc_template.h"
#include "ciphers/dispatch.h"
#include "ciphers/gcm_template.h"
#include "ciphers/keysched.h"

const struct aesop_kernels aesop_kernels_vaes512 = {
    .name = "vaes512",
    .batch_blocks = GCM_BATCH_BLOCKS,
    .max_powers = GCM_MAX_POWERS,
    .aes_expand_enc = aesop_aes_expand_enc_aesni,
    .aes_expand_dec = aesop_aes_expand_dec_aesni,
    .aes_enc_block = aesop_aes_enc_block_aesni,
    .cbc_enc = aesop_cbc_enc_aesni,
    .cbc_dec = cbc_dec_vaes512,
    .cbc_dec_nt = cbc_dec_nt_vaes512,
    .gcm_expand = aesop_gcm_expand_aesni,
    .gcm_powers = gcm_powers_vaes512,
    .gcm_start = gcm_start_vaes512,
    .gcm_hash = gcm_hash_vaes512,
    .gcm_enc = gcm_enc_vaes512,
    .gcm_dec = gcm_dec_vaes512,
    .gcm_enc_nt = gcm_enc_nt_vaes512,
    .gcm_dec_nt = gcm_dec_nt_vaes512,
    .gcm_tag = gcm_tag_vaes512,
};

#else
typedef int aesop_kernels_vaes512_need_x86_64; /* ISO C wants a declaration in every file */
#endif
