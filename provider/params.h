/* SPDX-License-Identifier: Apache-2.0 */
/* OSSL_PARAM without libcrypto: read, write and recognise parameters. */
#ifndef AESOP_PROVIDER_PARAMS_H
#define AESOP_PROVIDER_PARAMS_H

#include <stddef.h>
#include <string.h>

#include <openssl/core.h>

/* The parameters of a cipher and of a cipher context that aesop knows, whatever the direction. */
enum aesop_param {
    AESOP_PARAM_UNKNOWN,
    AESOP_PARAM_AEAD,            /* "aead" */
    AESOP_PARAM_BLOCKSIZE,       /* "blocksize" */
    AESOP_PARAM_CTS,             /* "cts" */
    AESOP_PARAM_CUSTOM_IV,       /* "custom-iv" */
    AESOP_PARAM_ENC_THEN_MAC,    /* "encrypt-then-mac" */
    AESOP_PARAM_HAS_RAND_KEY,    /* "has-randkey" */
    AESOP_PARAM_IV,              /* "iv" */
    AESOP_PARAM_IV_GENERATED,    /* "iv-generated" */
    AESOP_PARAM_IVLEN,           /* "ivlen" */
    AESOP_PARAM_KEYLEN,          /* "keylen" */
    AESOP_PARAM_MODE,            /* "mode" */
    AESOP_PARAM_NUM,             /* "num" */
    AESOP_PARAM_PADDING,         /* "padding" */
    AESOP_PARAM_TAG,             /* "tag" */
    AESOP_PARAM_TAGLEN,          /* "taglen" */
    AESOP_PARAM_TLS1_MULTIBLOCK, /* "tls-multi" */
    AESOP_PARAM_TLS_AAD,         /* "tlsaad" */
    AESOP_PARAM_TLS_AAD_PAD,     /* "tlsaadpad" */
    AESOP_PARAM_TLS_IV_FIXED,    /* "tlsivfixed" */
    AESOP_PARAM_TLS_IV_GEN,      /* "tlsivgen" */
    AESOP_PARAM_TLS_IV_INV,      /* "tlsivinv" */
    AESOP_PARAM_TLS_MAC,         /* "tls-mac" */
    AESOP_PARAM_TLS_MAC_SIZE,    /* "tls-mac-size" */
    AESOP_PARAM_TLS_VERSION,     /* "tls-version" */
    AESOP_PARAM_UPDATED_IV,      /* "updated-iv" */
};

/* Before a loop of known length, which becomes straight code. */
#if defined(__clang__)
#define AESOP_PARAM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define AESOP_PARAM_UNROLL _Pragma("GCC unroll 16")
#endif

/*
 * Whether the list is this parameter alone, of this type and size, with data; name is a literal. EVP sends what comes
 * with every message that way: taken on the spot, without a search or a call, it costs a third.
 */
static inline __attribute__((always_inline)) int aesop_param_alone(const OSSL_PARAM *params, const char *name,
                                                                   unsigned type, size_t size)
{
    const size_t name_len = strlen(name);

    if (params == NULL || params->key == NULL || params->data_type != type || params->data_size != size ||
        params->data == NULL || params[1].key != NULL)
        return 0;
    AESOP_PARAM_UNROLL
    for (size_t i = 0; i <= name_len; i++)
        if (params->key[i] != name[i])
            return 0;
    return 1;
}

/* Answers where the list asks for this number alone. */
static inline __attribute__((always_inline)) int aesop_param_answer_alone(OSSL_PARAM *params, const char *name,
                                                                          size_t value)
{
    if (!aesop_param_alone(params, name, OSSL_PARAM_UNSIGNED_INTEGER, sizeof value))
        return 0;
    memcpy(params->data, &value, sizeof value);
    params->return_size = sizeof value;
    return 1;
}

/* Recognises a key by a few of its characters and one comparison; this runs for every message. */
enum aesop_param aesop_param_find(const char *key);

/*
 * What libcrypto's OSSL_PARAM_get_size_t, _set_size_t and _set_uint take: integers of either signedness and any width,
 * and a REAL that is whole. get returns 1, or 0 where the type or the value does not fit; set fills data if there is any
 * and always return_size, and returns 0 where the type or size does not fit the value. To data NULL it answers the size
 * of its own type.
 */
int aesop_param_get_size(const OSSL_PARAM *p, size_t *value);
int aesop_param_set_size(OSSL_PARAM *p, size_t value);
int aesop_param_set_uint(OSSL_PARAM *p, unsigned value);

/*
 * Octets, as OCTET_STRING (copied) or OCTET_PTR (points to octets, which must outlive the caller's use). Data NULL
 * asks for the size only. Returns 0 where the type is another or data_size is below len.
 */
int aesop_param_set_octets(OSSL_PARAM *p, const void *octets, size_t len);

/* A static string, as UTF8_PTR. */
int aesop_param_set_utf8_ptr(OSSL_PARAM *p, const char *string);

#endif
