/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of kernels out of the templates. The includer defines VEC_BYTES, VEC_TARGET, KERNEL(name), which gives a
 * function its instruction set's suffix, and KERNEL_NAME, by which users know the set.
 */
#include "ciphers/cbc_template.h"
#include "ciphers/dispatch.h"
#include "ciphers/gcm_template.h"
#include "ciphers/keysched.h"

const struct aesop_kernels KERNEL(aesop_kernels) = {
    .name = KERNEL_NAME,
    .batch_blocks = GCM_BATCH_BLOCKS,
    .max_powers = GCM_MAX_POWERS,
    .table_rows = AESOP_GCM_TABLE_ROWS(VEC_TABLE_ROWS),
    .aes_expand_enc = aesop_aes_expand_enc_aesni,
    .aes_expand_dec = aesop_aes_expand_dec_aesni,
    .aes_enc_block = aesop_aes_enc_block_aesni,
    .cbc_enc = aesop_cbc_enc_aesni,
    .cbc_dec = KERNEL(cbc_dec),
    .cbc_dec_nt = KERNEL(cbc_dec_nt),
    .gcm_expand = aesop_gcm_expand_aesni,
    .gcm_powers = KERNEL(gcm_powers),
    .gcm_start = KERNEL(gcm_start),
    .gcm_hash = KERNEL(gcm_hash),
    .gcm_enc = KERNEL(gcm_enc),
    .gcm_dec = KERNEL(gcm_dec),
    .gcm_enc_nt = KERNEL(gcm_enc_nt),
    .gcm_dec_nt = KERNEL(gcm_dec_nt),
    .gcm_tag = KERNEL(gcm_tag),
};
