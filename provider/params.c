/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/params.h"

#include <stdint.h>
#include <string.h>

/*
 * The keys, told apart by their first characters; what is left is compared as a whole. Short remainders become a few
 * instructions, and those of every message are short. No character is read before the one in front of it has been
 * seen not to end the string.
 */
#define REST_IS(at, rest, param) (strcmp(key + (at), rest) == 0 ? (param) : AESOP_PARAM_UNKNOWN)

static enum aesop_param find_tls(const char *key)
{
    switch (key[3]) {
    case 'a':
        if (key[4] != 'a' || key[5] != 'd')
            return AESOP_PARAM_UNKNOWN;
        return key[6] == '\0' ? AESOP_PARAM_TLS_AAD : REST_IS(6, "pad", AESOP_PARAM_TLS_AAD_PAD);
    case 'i':
        if (key[4] != 'v')
            return AESOP_PARAM_UNKNOWN;
        switch (key[5]) {
        case 'f':
            return REST_IS(6, "ixed", AESOP_PARAM_TLS_IV_FIXED);
        case 'g':
            return REST_IS(6, "en", AESOP_PARAM_TLS_IV_GEN);
        case 'i':
            return REST_IS(6, "nv", AESOP_PARAM_TLS_IV_INV);
        }
        return AESOP_PARAM_UNKNOWN;
    case '-':
        if (key[4] == 'v')
            return REST_IS(5, "ersion", AESOP_PARAM_TLS_VERSION);
        if (key[4] != 'm')
            return AESOP_PARAM_UNKNOWN;
        if (key[5] == 'u')
            return REST_IS(6, "lti", AESOP_PARAM_TLS1_MULTIBLOCK);
        if (key[5] != 'a' || key[6] != 'c')
            return AESOP_PARAM_UNKNOWN;
        return key[7] == '\0' ? AESOP_PARAM_TLS_MAC : REST_IS(7, "-size", AESOP_PARAM_TLS_MAC_SIZE);
    }
    return AESOP_PARAM_UNKNOWN;
}

enum aesop_param aesop_param_find(const char *key)
{
    switch (key[0]) {
    case 'a':
        return REST_IS(1, "ead", AESOP_PARAM_AEAD);
    case 'b':
        return REST_IS(1, "locksize", AESOP_PARAM_BLOCKSIZE);
    case 'c':
        return key[1] == 't' ? REST_IS(2, "s", AESOP_PARAM_CTS) : REST_IS(1, "ustom-iv", AESOP_PARAM_CUSTOM_IV);
    case 'e':
        return REST_IS(1, "ncrypt-then-mac", AESOP_PARAM_ENC_THEN_MAC);
    case 'h':
        return REST_IS(1, "as-randkey", AESOP_PARAM_HAS_RAND_KEY);
    case 'i':
        if (key[1] != 'v')
            return AESOP_PARAM_UNKNOWN;
        if (key[2] == 'l')
            return REST_IS(3, "en", AESOP_PARAM_IVLEN);
        return key[2] == '\0' ? AESOP_PARAM_IV : REST_IS(2, "-generated", AESOP_PARAM_IV_GENERATED);
    case 'k':
        return REST_IS(1, "eylen", AESOP_PARAM_KEYLEN);
    case 'm':
        return REST_IS(1, "ode", AESOP_PARAM_MODE);
    case 'n':
        return REST_IS(1, "um", AESOP_PARAM_NUM);
    case 'p':
        return REST_IS(1, "adding", AESOP_PARAM_PADDING);
    case 't':
        if (key[1] == 'a' && key[2] == 'g')
            return key[3] == '\0' ? AESOP_PARAM_TAG : REST_IS(3, "len", AESOP_PARAM_TAGLEN);
        return key[1] == 'l' && key[2] == 's' ? find_tls(key) : AESOP_PARAM_UNKNOWN;
    case 'u':
        return REST_IS(1, "pdated-iv", AESOP_PARAM_UPDATED_IV);
    }
    return AESOP_PARAM_UNKNOWN;
}

/* Where byte i of an integer of size bytes is, counted from its low end. */
static size_t place(size_t i, size_t size)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;
}

int aesop_param_get_size(const OSSL_PARAM *p, size_t *value)
{
    const int is_signed = p->data_type == OSSL_PARAM_INTEGER;
    const uint8_t *data = p->data;
    uint64_t number = 0;
    uint8_t byte = 0, beyond = 0;
    double real;

    if (data == NULL)
        return 0;
    if (p->data_type == OSSL_PARAM_REAL && p->data_size == sizeof real) {
        memcpy(&real, data, sizeof real);
        if (!(real >= 0 && real < 0x1p64) || (double)(uint64_t)real != real || (uint64_t)real > SIZE_MAX)
            return 0;
        *value = (size_t)real;
        return 1;
    }
    if (!is_signed && p->data_type != OSSL_PARAM_UNSIGNED_INTEGER)
        return 0;
    for (size_t i = 0; i < p->data_size; i++) {
        byte = data[place(i, p->data_size)];
        if (i < sizeof number)
            number |= (uint64_t)byte << 8 * i;
        else
            beyond |= byte;
    }
    if (beyond != 0 || number > SIZE_MAX || (is_signed && byte >= 0x80))
        return 0;
    *value = (size_t)number;
    return 1;
}

/* own_bytes: of the type that the number has by nature */
static int set_number(OSSL_PARAM *p, uint64_t value, size_t own_bytes)
{
    const int is_signed = p->data_type == OSSL_PARAM_INTEGER, is_real = p->data_type == OSSL_PARAM_REAL;
    const double real = (double)value;
    const size_t bits = 8 * p->data_size - (is_signed && p->data_size > 0);
    uint8_t *data = p->data;

    if (!is_signed && !is_real && p->data_type != OSSL_PARAM_UNSIGNED_INTEGER)
        return 0;
    p->return_size = is_real ? sizeof real : own_bytes;
    if (data == NULL)
        return 1;
    if (is_real ? p->data_size != sizeof real || value >> 53 != 0 : bits < 64 && value >> bits != 0)
        return 0;
    p->return_size = p->data_size;
    if (is_real) {
        memcpy(data, &real, sizeof real);
        return 1;
    }
    for (size_t i = 0; i < p->data_size; i++, value >>= 8)
        data[place(i, p->data_size)] = (uint8_t)value;
    return 1;
}

int aesop_param_set_size(OSSL_PARAM *p, size_t value)
{
    return set_number(p, value, sizeof value);
}

int aesop_param_set_uint(OSSL_PARAM *p, unsigned value)
{
    return set_number(p, value, sizeof value);
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
