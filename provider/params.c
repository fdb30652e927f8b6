/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/params.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* The keys in the order of enum aesop_param. */
static const char *const keys[] = {
    [AESOP_PARAM_AEAD] = "aead",
    [AESOP_PARAM_BLOCKSIZE] = "blocksize",
    [AESOP_PARAM_CTS] = "cts",
    [AESOP_PARAM_CUSTOM_IV] = "custom-iv",
    [AESOP_PARAM_ENC_THEN_MAC] = "encrypt-then-mac",
    [AESOP_PARAM_HAS_RAND_KEY] = "has-randkey",
    [AESOP_PARAM_IV] = "iv",
    [AESOP_PARAM_IV_GENERATED] = "iv-generated",
    [AESOP_PARAM_IVLEN] = "ivlen",
    [AESOP_PARAM_KEYLEN] = "keylen",
    [AESOP_PARAM_MODE] = "mode",
    [AESOP_PARAM_NUM] = "num",
    [AESOP_PARAM_PADDING] = "padding",
    [AESOP_PARAM_TAG] = "tag",
    [AESOP_PARAM_TAGLEN] = "taglen",
    [AESOP_PARAM_TLS1_MULTIBLOCK] = "tls-multi",
    [AESOP_PARAM_TLS_AAD] = "tlsaad",
    [AESOP_PARAM_TLS_AAD_PAD] = "tlsaadpad",
    [AESOP_PARAM_TLS_IV_FIXED] = "tlsivfixed",
    [AESOP_PARAM_TLS_IV_GEN] = "tlsivgen",
    [AESOP_PARAM_TLS_IV_INV] = "tlsivinv",
    [AESOP_PARAM_TLS_MAC] = "tls-mac",
    [AESOP_PARAM_TLS_MAC_SIZE] = "tls-mac-size",
    [AESOP_PARAM_TLS_VERSION] = "tls-version",
    [AESOP_PARAM_UPDATED_IV] = "updated-iv",
};

/* The same behind "tls". */
static enum aesop_param tls_candidate(const char *rest)
{
    switch (rest[0]) {
    case 'a':
        return rest[1] == 'a' && rest[2] == 'd' && rest[3] != '\0' ? AESOP_PARAM_TLS_AAD_PAD : AESOP_PARAM_TLS_AAD;
    case 'i':
        if (rest[1] != 'v')
            return AESOP_PARAM_UNKNOWN;
        return rest[2] == 'f' ? AESOP_PARAM_TLS_IV_FIXED : rest[2] == 'g' ? AESOP_PARAM_TLS_IV_GEN : AESOP_PARAM_TLS_IV_INV;
    case '-':
        if (rest[1] == 'v')
            return AESOP_PARAM_TLS_VERSION;
        if (rest[1] != 'm' || rest[2] != 'a')
            return AESOP_PARAM_TLS1_MULTIBLOCK;
        return rest[3] == 'c' && rest[4] != '\0' ? AESOP_PARAM_TLS_MAC_SIZE : AESOP_PARAM_TLS_MAC;
    default:
        return AESOP_PARAM_UNKNOWN;
    }
}

/*
 * The only key that `key` could be, by the first characters that tell ours apart. None is read before the one in front of it has
 * been seen not to end the string.
 */
static enum aesop_param candidate(const char *key)
{
    switch (key[0]) {
    case 'a':
        return AESOP_PARAM_AEAD;
    case 'b':
        return AESOP_PARAM_BLOCKSIZE;
    case 'c':
        return key[1] == 't' ? AESOP_PARAM_CTS : AESOP_PARAM_CUSTOM_IV;
    case 'e':
        return AESOP_PARAM_ENC_THEN_MAC;
    case 'h':
        return AESOP_PARAM_HAS_RAND_KEY;
    case 'i':
        if (key[1] != 'v')
            return AESOP_PARAM_UNKNOWN;
        return key[2] == 'l' ? AESOP_PARAM_IVLEN : key[2] == '-' ? AESOP_PARAM_IV_GENERATED : AESOP_PARAM_IV;
    case 'k':
        return AESOP_PARAM_KEYLEN;
    case 'm':
        return AESOP_PARAM_MODE;
    case 'n':
        return AESOP_PARAM_NUM;
    case 'p':
        return AESOP_PARAM_PADDING;
    case 't':
        if (key[1] == 'a')
            return key[2] == 'g' && key[3] == 'l' ? AESOP_PARAM_TAGLEN : AESOP_PARAM_TAG;
        return key[1] == 'l' && key[2] == 's' ? tls_candidate(key + 3) : AESOP_PARAM_UNKNOWN;
    case 'u':
        return AESOP_PARAM_UPDATED_IV;
    default:
        return AESOP_PARAM_UNKNOWN;
    }
}

enum aesop_param aesop_param_find(const char *key)
{
    const enum aesop_param param = candidate(key);

    if (param == AESOP_PARAM_UNKNOWN)
        return param;
    /* Keys are short: this ends before a call of strcmp has begun. */
    for (const char *known = keys[param]; *key == *known; key++, known++)
        if (*key == '\0')
            return param;
    return AESOP_PARAM_UNKNOWN;
}

int aesop_param_get_size(const OSSL_PARAM *p, size_t *value)
{
    uint32_t u32;
    uint64_t u64;
    uint64_t sign_bit;

    if (p->data == NULL || (p->data_type != OSSL_PARAM_INTEGER && p->data_type != OSSL_PARAM_UNSIGNED_INTEGER))
        return 0;
    if (p->data_size == sizeof u32) {
        memcpy(&u32, p->data, sizeof u32);
        u64 = u32;
        sign_bit = UINT64_C(1) << 31;
    } else if (p->data_size == sizeof u64) {
        memcpy(&u64, p->data, sizeof u64);
        sign_bit = UINT64_C(1) << 63;
    } else {
        return 0;
    }
    if (u64 > SIZE_MAX || (p->data_type == OSSL_PARAM_INTEGER && (u64 & sign_bit) != 0))
        return 0;
    *value = (size_t)u64;
    return 1;
}

int aesop_param_set_size(OSSL_PARAM *p, size_t value)
{
    const int is_signed = p->data_type == OSSL_PARAM_INTEGER;
    const uint32_t u32 = (uint32_t)value;
    const uint64_t u64 = value;

    if (!is_signed && p->data_type != OSSL_PARAM_UNSIGNED_INTEGER)
        return 0;
    p->return_size = sizeof u64;
    if (p->data == NULL)
        return 1;
    if (p->data_size == sizeof u32 && value <= (is_signed ? INT32_MAX : UINT32_MAX))
        memcpy(p->data, &u32, sizeof u32);
    else if (p->data_size == sizeof u64 && (!is_signed || value <= INT64_MAX))
        memcpy(p->data, &u64, sizeof u64);
    else
        return 0;
    p->return_size = p->data_size;
    return 1;
}

int aesop_param_set_octets(OSSL_PARAM *p, const void *octets, size_t len)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING && p->data_type != OSSL_PARAM_OCTET_PTR)
        return 0;
    p->return_size = len;
    if (p->data == NULL)
        return 1;
    if (p->data_type == OSSL_PARAM_OCTET_PTR) {
        *(const void **)p->data = octets;
        return 1;
    }
    if (p->data_size < len)
        return 0;
    memcpy(p->data, octets, len);
    return 1;
}

int aesop_param_set_utf8_ptr(OSSL_PARAM *p, const char *string)
{
    if (p->data_type != OSSL_PARAM_UTF8_PTR)
        return 0;
    p->return_size = strlen(string);
    if (p->data != NULL)
        *(const char **)p->data = string;
    return 1;
}
