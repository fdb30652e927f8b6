/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>

#include <aesop/stream.h>

#include "streams/stream.h"

/* ---- parameters ---- */

enum kind { SIZE, FLAG, OCTETS, FORMAT, DIGEST };

#define AT(field) offsetof(struct aesop_stream_config, field)

static const struct parameter {
    const char *name;
    enum kind kind;
    size_t offset;
    size_t min, max; /* of a size, or of a byte string's length */
    int rekey;       /* may be given to re-key */
} parameters[] = {
    { AESOP_STREAM_PARAM_FORMAT, FORMAT, AT(format), 0, 0, 0 },
    { AESOP_STREAM_PARAM_SEGMENT_SIZE, SIZE, AT(segment_bytes), 1, AESOP_STREAM_MAX_BYTES, 0 },
    { AESOP_STREAM_PARAM_BUFFER_SIZE, SIZE, AT(buffer_bytes), 64, AESOP_STREAM_MAX_BYTES, 0 },
    { AESOP_STREAM_PARAM_AAD, OCTETS, AT(aad), 0, AESOP_STREAM_MAX_BYTES, 1 },
    { AESOP_STREAM_PARAM_DIGEST, DIGEST, AT(hash), 0, 0, 0 },
    { AESOP_STREAM_PARAM_IV, OCTETS, AT(iv), 1, AESOP_STREAM_MAX_HEADER, 1 },
    { AESOP_STREAM_PARAM_SALT_STREAMS, SIZE, AT(salt_streams), 1, 65536, 0 },
    { AESOP_STREAM_PARAM_TAG_LENGTH, SIZE, AT(tag_bytes), 4, AESOP_STREAM_TAG_BYTES, 0 },
    { AESOP_STREAM_PARAM_HOLD_LIMIT, SIZE, AT(hold_bytes), 0, SIZE_MAX / 4, 0 },
    { AESOP_STREAM_PARAM_RELEASE_UNVERIFIED, FLAG, AT(release_unverified), 0, 1, 0 },
};

static const struct aesop_format *const formats[] = { &aesop_format_segmented, &aesop_format_message };

static const struct aesop_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(name, formats[i]->name) == 0)
            return formats[i];
    return NULL;
}

static int read_size(const struct parameter *known, const OSSL_PARAM *p, void *field)
{
    size_t value;

    if (!OSSL_PARAM_get_size_t(p, &value) || value < known->min || value > known->max)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "%s must be a number from %zu to %zu", known->name,
                                   known->min, known->max);
    *(size_t *)field = value;
    return 1;
}

static int read_flag(const struct parameter *known, const OSSL_PARAM *p, void *field)
{
    int value;

    if (!OSSL_PARAM_get_int(p, &value) || (value != 0 && value != 1))
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "%s must be the int 0 or 1", known->name);
    *(int *)field = value;
    return 1;
}

static int read_octets(const struct parameter *known, const OSSL_PARAM *p, void *field)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING || (p->data == NULL && p->data_size > 0) || p->data_size < known->min ||
        p->data_size > known->max)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "%s must be an octet string of %zu to %zu bytes",
                                   known->name, known->min, known->max);
    *(struct aesop_octets *)field = (struct aesop_octets){ p->data != NULL ? p->data : (const void *)"", p->data_size };
    return 1;
}

static int read_name(const struct parameter *known, const OSSL_PARAM *p, void *field)
{
    const char *name;
    const void *value = NULL;

    if (OSSL_PARAM_get_utf8_string_ptr(p, &name) && name != NULL)
        value = known->kind == FORMAT ? (const void *)find_format(name) : (const void *)aesop_hash_find(name);
    if (value == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "%s must be the string %s", known->name,
                                   known->kind == FORMAT ? "\"segmented\" or \"message\""
                                                         : "\"SHA1\", \"SHA256\" or \"SHA512\"");
    memcpy(field, &value, sizeof value);
    return 1;
}

static int read_parameters(struct aesop_stream_config *c, const OSSL_PARAM params[], int rekey)
{
    static int (*const readers[])(const struct parameter *, const OSSL_PARAM *, void *) = {
        [SIZE] = read_size, [FLAG] = read_flag, [OCTETS] = read_octets, [FORMAT] = read_name, [DIGEST] = read_name,
    };
    const size_t count = sizeof parameters / sizeof parameters[0];

    for (const OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        size_t i = 0;

        while (i < count && (strcmp(parameters[i].name, p->key) != 0 || (rekey && !parameters[i].rekey)))
            i++;
        if (i == count)
            return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "there is no parameter %s%s", p->key,
                                       rekey ? " to re-key" : "");
        if (!readers[parameters[i].kind](&parameters[i], p, (char *)c + parameters[i].offset))
            return 0;
    }
    return 1;
}

int aesop_stream_config_read(struct aesop_stream_config *c, const OSSL_PARAM params[])
{
    c->format = &aesop_format_segmented;
    c->hash = aesop_hash_find("SHA256");
    c->segment_bytes = AESOP_STREAM_DEFAULT_SEGMENT;
    c->buffer_bytes = AESOP_STREAM_DEFAULT_BUFFER;
    c->tag_bytes = AESOP_STREAM_TAG_BYTES;
    c->salt_streams = 1;
    c->hold_bytes = AESOP_STREAM_DEFAULT_HOLD;
    return read_parameters(c, params, 0);
}

int aesop_stream_config_read_rekey(struct aesop_stream_config *c, const OSSL_PARAM params[])
{
    return read_parameters(c, params, 1);
}

/* ---- open and close ---- */

/* Copies bytes into memory of *capacity that stays for re-keying. */
static int keep(struct aesop_octets *octets, size_t *capacity)
{
    uint8_t *copy;

    *capacity = octets->len > AESOP_STREAM_REKEY_BYTES ? octets->len : AESOP_STREAM_REKEY_BYTES;
    copy = OPENSSL_zalloc(*capacity);
    if (copy != NULL && octets->len > 0)
        memcpy(copy, octets->data, octets->len);
    octets->data = copy;
    return copy != NULL;
}

static void replace(struct aesop_octets *kept, const struct aesop_octets *with)
{
    if (with->len > 0)
        memcpy((uint8_t *)kept->data, with->data, with->len);
    kept->len = with->len;
}

static int check_cipher(const EVP_CIPHER *cipher)
{
    const int mode = cipher == NULL ? -1 : EVP_CIPHER_get_mode(cipher);

    /* The others want the text's length, or the text, before they give out a byte. */
    if (cipher == NULL || (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) == 0 ||
        (mode != EVP_CIPH_GCM_MODE && mode != EVP_CIPH_OCB_MODE && mode != EVP_CIPH_STREAM_CIPHER) ||
        EVP_CIPHER_get_iv_length(cipher) <= 0)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_CIPHER, "%s is no AEAD cipher that takes text piece by piece",
                                   cipher == NULL ? "NULL" : EVP_CIPHER_get0_name(cipher));
    return 1;
}

static int open_cipher(struct aesop_stream *s)
{
    const struct aesop_stream_config *c = &s->config;

    if (!EVP_CipherInit_ex(s->ctx, c->cipher, NULL, NULL, NULL, c->encrypt) ||
        EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)s->iv_bytes, NULL) <= 0)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_CIPHER, "%s does not start with an iv of %zu bytes",
                                   EVP_CIPHER_get0_name(c->cipher), s->iv_bytes);
    /* OCB works the tag's length into its first block and wants to know. */
    if (EVP_CIPHER_get_mode(c->cipher) == EVP_CIPH_OCB_MODE &&
        EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, (int)c->tag_bytes, NULL) <= 0)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_CIPHER, "%s has no tags of %zu bytes",
                                   EVP_CIPHER_get0_name(c->cipher), c->tag_bytes);
    return 1;
}

int aesop_stream_open(struct aesop_stream *s, const struct aesop_stream_config *config)
{
    struct aesop_stream_config *c = &s->config;

    if (!check_cipher(config->cipher))
        return 0;
    if (config->key.data == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_KEY, "no key");
    *c = *config;
    s->cipher_key_bytes = (size_t)EVP_CIPHER_get_key_length(c->cipher);
    s->iv_bytes = (size_t)EVP_CIPHER_get_iv_length(c->cipher);
    s->block_bytes = (size_t)EVP_CIPHER_get_block_size(c->cipher);
    if (!c->format->setup(s)) {
        OPENSSL_cleanse(s, sizeof *s);
        return 0;
    }
    c->cipher = NULL;
    s->ctx = EVP_CIPHER_CTX_new();
    if (!(keep(&c->key, &s->key_capacity) & keep(&c->aad, &s->aad_capacity)) || s->ctx == NULL) {
        aesop_stream_refuse(AESOP_STREAM_R_NO_MEMORY, "for a stream");
        goto failed;
    }
    if (c->iv.data != NULL) {
        /* Its own length never changes. */
        c->iv.data = memcpy(s->given_iv, c->iv.data, c->iv.len);
    }
    if (EVP_CIPHER_up_ref((EVP_CIPHER *)config->cipher))
        c->cipher = config->cipher;
    if (c->cipher == NULL || !open_cipher(s))
        goto failed;
    aesop_random_open(&s->random);
    s->key_fresh = 1;
    return 1;
failed:
    aesop_stream_close(s);
    return 0;
}

void aesop_stream_close(struct aesop_stream *s)
{
    struct aesop_stream_config *c = &s->config;

    EVP_CIPHER_CTX_free(s->ctx);
    EVP_CIPHER_free((EVP_CIPHER *)c->cipher);
    OPENSSL_clear_free((void *)c->key.data, s->key_capacity);
    OPENSSL_clear_free((void *)c->aad.data, s->aad_capacity);
    aesop_random_close(&s->random);
    OPENSSL_cleanse(s, sizeof *s);
}

int aesop_stream_start(struct aesop_stream *s)
{
    s->reason = 0;
    s->finished = s->second_pass = 0;
    s->number = s->text_bytes = 0;
    return s->config.format->start(s);
}

int aesop_stream_rekey(struct aesop_stream *s, const struct aesop_stream_config *with)
{
    struct aesop_stream_config *c = &s->config;

    if (with->key.data != NULL && (with->key.len > s->key_capacity || with->key.len < s->cipher_key_bytes ||
                                   (c->format == &aesop_format_message && with->key.len != c->key.len)))
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_KEY, "a key of %zu bytes does not fit", with->key.len);
    if (with->aad.data != NULL && with->aad.len > s->aad_capacity)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER,
                                   "%zu bytes of associated data; re-keying has room for %zu", with->aad.len,
                                   s->aad_capacity);
    if (with->iv.data != NULL && (c->iv.data == NULL || with->iv.len != c->iv.len))
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "an iv of %zu bytes where set-up had %zu",
                                   with->iv.len, c->iv.data == NULL ? 0 : c->iv.len);
    if (with->key.data != NULL) {
        replace(&c->key, &with->key);
        OPENSSL_cleanse((uint8_t *)c->key.data + c->key.len, s->key_capacity - c->key.len);
    }
    if (with->aad.data != NULL)
        replace(&c->aad, &with->aad);
    if (with->key.data != NULL || with->aad.data != NULL)
        s->key_fresh = 1;
    if (with->iv.data != NULL) {
        replace(&c->iv, &with->iv);
        s->iv_used = 0;
    }
    return 1;
}

void aesop_stream_count_up(uint8_t *number, size_t len)
{
    while (len-- > 0 && ++number[len] == 0)
        ;
}

int aesop_stream_update(struct aesop_stream *s, uint8_t *out, size_t *made, const struct aesop_octets in[2])
{
    for (size_t i = 0; i < 2; i++) {
        int n = 0;

        if (in[i].len > 0 && !EVP_CipherUpdate(s->ctx, out + *made, &n, in[i].data, (int)in[i].len))
            return 0;
        *made += (size_t)n;
    }
    return 1;
}

void aesop_stream_cut_tag(struct aesop_octets in[2], uint8_t *tag, size_t len)
{
    for (size_t i = 2; i-- > 0;) {
        const size_t n = in[i].len < len ? in[i].len : len;

        len -= n;
        in[i].len -= n;
        if (n > 0)
            memcpy(tag + len, in[i].data + in[i].len, n);
    }
}

int aesop_stream_set_tag(struct aesop_stream *s, const uint8_t *tag, size_t len)
{
    const OSSL_PARAM params[] = { OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, (void *)tag, len),
                                  OSSL_PARAM_END };

    return EVP_CIPHER_CTX_set_params(s->ctx, params);
}

int aesop_stream_get_tag(struct aesop_stream *s, uint8_t *tag, size_t len)
{
    OSSL_PARAM params[] = { OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, len), OSSL_PARAM_END };

    return EVP_CIPHER_CTX_get_params(s->ctx, params);
}

size_t aesop_stream_out_bytes(const struct aesop_stream *s, size_t in_len, int last)
{
    const size_t tag = s->config.tag_bytes;
    /* OCB gives out whole blocks, also of text that came before. */
    const size_t slack = s->block_bytes - 1;

    if (s->config.encrypt)
        return in_len + slack + (last || !s->config.format->any_unit ? tag : 0);
    return slack + (!last ? in_len : in_len > tag ? in_len - tag : 0);
}
