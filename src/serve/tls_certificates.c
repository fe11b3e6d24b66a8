/* Credentials of GnuTLS. Earlier ones are kept, since sessions may still use them: that is little,
 * and happens as often as a certificate is renewed. */
#include "serve/tls_certificates.h"

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <string.h>

#include "base/input.h"
#include "base/memory.h"

#define PEM_MAX ((size_t)1 << 20)

struct pair {
    char *cert;
    char *key;
    gnutls_certificate_credentials_t credentials;
    struct pair *earlier;
};

struct serve_certificates {
    const char *cert;
    const char *key;
    pthread_mutex_t lock;
    struct pair *last;
};

static void free_pair(struct pair *pair) {
    if (pair->credentials != NULL)
        gnutls_certificate_free_credentials(pair->credentials);
    kg__free(pair->cert);
    kg__free(pair->key);
    kg__free(pair);
}

static kg_status read_pem(char **out, const char *path, kg_error *error) {
    kg_input *input = NULL;
    size_t got = 0;
    *out = kg__alloc(PEM_MAX + 1, 1);
    if (*out == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__input_open(&input, path, KG_PLAIN, error);
    if (status == KG_OK)
        status = kg__input_read(input, *out, PEM_MAX, &got, error);
    kg__input_close(input);
    return status;
}

/* GnuTLS also compares them: the key must be that of the certificate. */
static kg_status fill(struct pair *pair, const serve_certificates *paths, kg_error *error) {
    KG_TRY(read_pem(&pair->cert, paths->cert, error));
    KG_TRY(read_pem(&pair->key, paths->key, error));
    gnutls_datum_t cert = {(unsigned char *)pair->cert, (unsigned)strlen(pair->cert)};
    gnutls_datum_t key = {(unsigned char *)pair->key, (unsigned)strlen(pair->key)};
    if (gnutls_certificate_allocate_credentials(&pair->credentials) < 0)
        return kg__fail_memory(error);
    int code =
        gnutls_certificate_set_x509_key_mem(pair->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    if (code < 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a certificate and its key in %s and %s, found another: %s",
                       paths->cert, paths->key, gnutls_strerror(code));
    return KG_OK;
}

kg_status serve_certificates_reload(serve_certificates *certificates, kg_error *error) {
    struct pair *pair = kg__alloc(1, sizeof *pair);
    kg_status status = pair == NULL ? kg__fail_memory(error) : fill(pair, certificates, error);
    if (status != KG_OK) {
        if (pair != NULL)
            free_pair(pair);
        return status;
    }
    pthread_mutex_lock(&certificates->lock);
    pair->earlier = certificates->last;
    certificates->last = pair;
    pthread_mutex_unlock(&certificates->lock);
    return KG_OK;
}

kg_status serve_certificates_open(serve_certificates **out, const char *cert, const char *key,
                                  kg_error *error) {
    serve_certificates *certificates = kg__alloc(1, sizeof *certificates);
    if (certificates == NULL)
        return kg__fail_memory(error);
    *certificates = (serve_certificates){.cert = cert, .key = key};
    pthread_mutex_init(&certificates->lock, NULL);
    kg_status status = serve_certificates_reload(certificates, error);
    if (status == KG_OK)
        *out = certificates;
    else
        serve_certificates_close(certificates);
    return status;
}

void serve_certificates_close(serve_certificates *certificates) {
    if (certificates == NULL)
        return;
    for (struct pair *pair = certificates->last; pair != NULL;) {
        struct pair *earlier = pair->earlier;
        free_pair(pair);
        pair = earlier;
    }
    pthread_mutex_destroy(&certificates->lock);
    kg__free(certificates);
}

void serve_certificates_use(serve_certificates *certificates, void *session) {
    pthread_mutex_lock(&certificates->lock);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, certificates->last->credentials);
    pthread_mutex_unlock(&certificates->lock);
}

char *serve_certificates_cert(const serve_certificates *certificates) {
    return certificates->last->cert;
}

char *serve_certificates_key(const serve_certificates *certificates) {
    return certificates->last->key;
}
