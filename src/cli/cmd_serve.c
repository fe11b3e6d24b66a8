/* kgraft serve: the live graph of a store as a service. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "base/thread_count.h"
#include "cli/cli.h"
#include "serve/listener.h"
#include "serve/server.h"
#include "serve/systemd_notify.h"

struct settings {
    cli_common common;
    const char *listen;
    const char *metrics;
    const char *token_file;
    const char *tls_cert;
    const char *tls_key;
    const char *cors;
    const char *access_log;
    const char *backup_dir;
    cli_texts limits;
    uint64_t threads;
    bool read_only;
    bool open;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "listen",
     .argument = "HOST:PORT",
     .kind = CLI_TEXT,
     .offset = SETTING(listen),
     .help = "where requests come in; port 0 is any (default: 127.0.0.1:8080)"},
    {.name = "metrics",
     .argument = "HOST:PORT",
     .kind = CLI_TEXT,
     .offset = SETTING(metrics),
     .help = "where /metrics is, for Prometheus (default: nowhere)"},
    {.name = "token-file",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(token_file),
     .help = "lines `read TOKEN` and `write TOKEN`: requests need one of these"},
    {.name = "open",
     .kind = CLI_FLAG,
     .offset = SETTING(open),
     .help = "take requests from other machines, too, without tokens"},
    {.name = "tls-cert",
     .argument = "FILE.pem",
     .kind = CLI_TEXT,
     .offset = SETTING(tls_cert),
     .help = "serve HTTPS with this certificate, and --tls-key"},
    {.name = "tls-key",
     .argument = "FILE.pem",
     .kind = CLI_TEXT,
     .offset = SETTING(tls_key),
     .help = "its key"},
    {.name = "cors",
     .argument = "ORIGIN",
     .kind = CLI_TEXT,
     .offset = SETTING(cors),
     .help = "let pages of this origin, or * for any, ask from browsers"},
    {.name = "access-log",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(access_log),
     .help = "add a line of JSON for each request to this file"},
    {.name = "backup-dir",
     .argument = "DIR",
     .kind = CLI_TEXT,
     .offset = SETTING(backup_dir),
     .help = "where POST /v1/backups puts copies of the store (default: refused)"},
    {.name = "read-only",
     .kind = CLI_FLAG,
     .offset = SETTING(read_only),
     .help = "take no changes; another process may write to the store"},
    {.name = "limit",
     .argument = "NAME=N",
     .kind = CLI_TEXTS,
     .offset = SETTING(limits),
     .help = "another value of a limit, as in idle_seconds=120; can be repeated"},
    CLI_THREADS(SETTING(threads)),
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

static kg_status read_limits(serve_capacity *out, const cli_texts *given, kg_error *error) {
    *out = serve_capacity_default();
    for (size_t i = 0; i < given->count; i++)
        KG_TRY(serve_capacity_set(out, given->items[i], error));
    return KG_OK;
}

/* SCHEME://HOST or SCHEME://HOST:PORT, as browsers send it, or any. */
static bool is_origin(const char *text) {
    const char *host = strstr(text, "://");
    bool is_web = strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
    return strcmp(text, "*") == 0 ||
           (is_web && host[3] != '\0' && host[3 + strcspn(host + 3, "/?#@, \t\"'")] == '\0');
}

static kg_status check_others(const struct settings *settings, kg_error *error) {
    struct stat about;
    const char *folder = settings->backup_dir;
    if (settings->cors != NULL && !is_origin(settings->cors))
        return kg_fail(error, KG_BAD_INPUT,
                       "--cors: expected an origin, as in https://page.example, or *, found %s",
                       kg__quote(settings->cors, strlen(settings->cors)).text);
    if (folder == NULL)
        return KG_OK;
    if (stat(folder, &about) != 0 || access(folder, W_OK | X_OK) != 0)
        return kg__fail_errno(error, folder, "write backups to it");
    if (!S_ISDIR(about.st_mode))
        return kg_fail(error, KG_BAD_INPUT, "--backup-dir: expected a folder, found %s",
                       kg__quote(folder, strlen(folder)).text);
    return KG_OK;
}

static kg_status check(const struct settings *settings, kg_error *error) {
    bool is_loopback = false;
    if ((settings->tls_cert == NULL) != (settings->tls_key == NULL))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected --tls-cert and --tls-key together, found one without the other");
    KG_TRY(check_others(settings, error));
    KG_TRY(serve_is_loopback(&is_loopback, settings->listen, error));
    if (is_loopback || settings->token_file != NULL || settings->open)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "--listen: expected --token-file where other machines can reach the server, "
                   "found none (--open lets anyone read and write)");
}

/* Where it listens is the result, so that a script can ask for any port. */
static kg_status print_address(const serve_server *server, const cli_context *context,
                               kg_error *error) {
    const serve_options *given = &server->options;
    const char *colon = strrchr(given->listen, ':');
    char address[512];
    snprintf(address, sizeof address, "%s://%.*s:%u/", given->tls_cert == NULL ? "http" : "https",
             (int)(colon - given->listen), given->listen, serve_http_port(server->http));
    if (!context->common->json) {
        printf("listening on %s\n", address);
        return cli_flush(error);
    }
    json_t *metrics = server->metrics_http == NULL
                          ? json_null()
                          : json_integer((json_int_t)serve_http_port(server->metrics_http));
    return cli_print_json(json_pack("{ss sI so}", "address", address, "port",
                                    (json_int_t)serve_http_port(server->http), "metrics_port",
                                    metrics),
                          error);
}

static void reload(serve_server *server, const cli_context *context) {
    kg_error error = {0};
    if (serve_server_reload(server, &error) == KG_OK)
        cli_say(context, "tokens and certificate were read again");
    else
        cli_print_error(&error);
}

/* A connection is an open file: as many as the system allows. */
static void raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Passes a signal on to the first thread of the process, which waits for it. */
static void forward(int number) {
    syscall(SYS_tgkill, getpid(), getpid(), number);
}

/* The signals that this thread waits for. Threads that are started from now on do not get them;
 * those that a library has started before may, and pass them on. What was ignored stays so. They
 * are blocked first: this thread would pass one on to itself without an end. */
static sigset_t block_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&signals, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
            sigdelset(&signals, numbers[i]);
        else
            sigaction(numbers[i], &action, NULL);
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    return signals;
}

/* The first signal has ended the wait; a second one ends the process at once. There is nothing to
 * reload any more. */
static void unblock_signals(const sigset_t *signals) {
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGHUP, &ignore, NULL);
    if (sigismember(signals, SIGINT) == 1)
        sigaction(SIGINT, &by_default, NULL);
    if (sigismember(signals, SIGTERM) == 1)
        sigaction(SIGTERM, &by_default, NULL);
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    serve_options serve = {.store = context->arguments[0],
                           .listen = settings->listen,
                           .metrics = settings->metrics,
                           .token_file = settings->token_file,
                           .is_open = settings->open,
                           .tls_cert = settings->tls_cert,
                           .tls_key = settings->tls_key,
                           .cors = settings->cors,
                           .access_log = settings->access_log,
                           .backup_dir = settings->backup_dir,
                           .is_read_only = settings->read_only};
    serve_server *server = NULL;
    sigset_t signals = block_signals();
    KG_TRY(check(settings, error));
    KG_TRY(read_limits(&serve.limits, &settings->limits, error));
    raise_file_limit();
    serve.threads = (unsigned)kg__threads(settings->threads);
    KG_TRY(serve_server_open(&server, &serve, error));
    kg_status status = print_address(server, context, error);
    serve_notify("READY=1");
    for (int signal = 0; status == KG_OK && signal != SIGINT && signal != SIGTERM;) {
        sigwait(&signals, &signal);
        if (signal == SIGHUP)
            reload(server, context);
    }
    unblock_signals(&signals);
    serve_notify("STOPPING=1");
    cli_say(context, "stopping");
    serve_server_close(server);
    return status;
}

static const struct settings defaults = {.listen = "127.0.0.1:8080"};

const cli_command cli_serve = {
    .name = "serve",
    .usage = "STORE",
    .summary = "answer questions and take facts over HTTP",
    .details = "SIGTERM and SIGINT finish what runs and stop the server; SIGHUP makes it read "
               "tokens and\ncertificate again.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
