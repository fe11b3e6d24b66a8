/* The tool: finds the command, runs it, and turns what it returns into a message and an exit
 * code. Results go to stdout, everything else to stderr. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/blas_setup.h"
#include "cli/cli.h"

/* The only global state: a signal handler has no other way to communicate. */
static volatile sig_atomic_t stop_signal;

static void on_signal(int number) {
    stop_signal = number;
}

/* The first signal makes the command stop and clean up, a second one ends it at once. Signals that
 * were ignored when the program was started (by nohup, say) stay ignored. A file that grows too
 * large is an error like a full disk. */
static void catch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
        action.sa_handler = on_signal;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &ignore, NULL);
}

/* The next file that is opened would get the number of a closed standard stream. So closed ones are
 * opened, in such a way that using them still fails. */
static void occupy_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

static void show_commands(FILE *stream) {
    fprintf(stream,
            "kgraft %s: knowledge-graph embeddings for entities seen and unseen\n\n"
            "usage: kgraft COMMAND [OPTION]... [ARGUMENT]...\n\ncommands:\n",
            kg_version());
    for (const cli_command *const *command = cli_commands; *command != NULL; command++)
        fprintf(stream, "  %-10s %s\n", (*command)->name, (*command)->summary);
    fprintf(stream,
            "\nSee kgraft COMMAND --help for its options, and man kgraft for the manual.\n");
}

static const cli_command *find_command(const char *name) {
    const cli_command *const *command = cli_commands;
    while (*command != NULL && strcmp((*command)->name, name) != 0)
        command++;
    return *command;
}

static kg_status unknown_command(const char *word, kg_error *error) {
    const char *names[CLI_MOST_COMMANDS + 2] = {"--help", "--version"};
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        names[i + 2] = cli_commands[i]->name;
    const char *nearest = kg__nearest_word(word, names);
    return kg_fail(error, KG_BAD_INPUT, "unknown %s %s%s%s%s (see kgraft --help)",
                   word[0] == '-' ? "option" : "command", kg__quote(word, strlen(word)).text,
                   nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "?");
}

/* Meets the other ranks, if there are any. */
static kg_status open_ranks(kg_ranks *ranks, const cli_command *command, kg_error *error) {
    size_t launched = kg__ranks_launched();
    if (command->is_shared || launched == 1)
        return kg__ranks_open(ranks, error);
    return kg_fail(
        error, KG_BAD_INPUT,
        "expected one process for kgraft %s, found that %zu were started (kgraft train, kgraft "
        "tune and kgraft eval share their work between ranks of MPI)",
        command->name, launched);
}

static kg_status run(const cli_command *command, int count, char **words, kg_ranks *ranks,
                     kg_error *error) {
    void *settings = kg__alloc(1, command->settings_size);
    const char **arguments = kg__alloc((size_t)count + 1, sizeof *arguments);
    cli_context context = {.arguments = arguments, .ranks = ranks};
    bool help = false;
    cli_bar bar;
    kg_status status = KG_OK;
    if (settings == NULL || arguments == NULL) {
        status = kg__fail_memory(error);
        goto done;
    }
    KG_CHECK(open_ranks(ranks, command, error));
    memcpy(settings, command->defaults, command->settings_size);
    KG_CHECK(cli_parse(command, settings, count, words, arguments, &context.argument_count, &help,
                       error));
    if (help) {
        if (kg__ranks_first(ranks))
            cli_show_help(command, stdout);
        KG_CHECK(cli_flush(error));
        goto done;
    }
    if (!kg__ranks_first(ranks)) /* the first one prints */
        *(cli_common *)settings = (cli_common){.quiet = true};
    context.common = settings;
    cli_bar_open(&bar, context.common->quiet ? NULL : stderr, &stop_signal);
    context.bar = &bar;
    context.progress = cli_bar_progress(&bar);
    status = command->run(settings, &context, error);
    cli_bar_close(&bar);
done:
    kg__free(settings);
    kg__free(arguments);
    return status;
}

static kg_status dispatch(int count, char **words, kg_ranks *ranks, kg_error *error) {
    if (count < 2) {
        show_commands(stderr);
        return kg_fail(error, KG_BAD_INPUT, "expected a command");
    }
    const char *word = words[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("kgraft %s\n", kg_version());
        return cli_flush(error);
    }
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
    if (help && count == 2) {
        show_commands(stdout);
        return cli_flush(error);
    }
    const cli_command *command = find_command(help ? words[2] : word);
    if (command == NULL)
        return unknown_command(help ? words[2] : word, error);
    if (help) {
        cli_show_help(command, stdout);
        return cli_flush(error);
    }
    return run(command, count - 2, words + 2, ranks, error);
}

int main(int count, char **words) {
    cli_choose_kernels(words);
    occupy_standard_streams();
    catch_signals();
    kg_error error = {0};
    kg_ranks ranks = {.count = 1};
    kg_status status = dispatch(count, words, &ranks, &error);
    bool is_common = kg__ranks_end(&ranks, status != KG_OK);
    if (status == KG_OK) {
        kg__ranks_close(&ranks);
        return EXIT_FINE;
    }
    int code = status == KG_BAD_INPUT || status == KG_DIVERGED ? EXIT_INPUT : EXIT_SYSTEM;
    if (kg__ranks_first(&ranks) || !is_common)
        cli_print_error(&error);
    if (!is_common)
        kg__ranks_abort(&ranks, code);
    kg__ranks_close(&ranks);
    if (stop_signal != 0) /* the handler was reset, so this ends the process as requested */
        raise(stop_signal);
    return code;
}
