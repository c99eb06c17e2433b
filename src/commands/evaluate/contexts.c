#include "commands/evaluate/contexts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parallel.h"
#include "commands/logits.h"
#include "formats/model_weights.h"
#include "pictures/table.h"
#include "training/run_directory.h"
#include "training/train_config.h"

/* Whether an override sets a key below "model.position.scaling". */
static bool sets_scaling(const OptionList *overrides, const char *key) {
    for (int i = 0; i < overrides->count; i++)
        if (strncmp(overrides->items[i], key, strlen(key)) == 0) return true;
    return false;
}

Model *changed_model(const char *run, const OptionList *overrides, int64_t longest, Error *error) {
    RunDirectory names = run_directory_names(run);
    const char **items = allocate((size_t)overrides->count + 1, sizeof *items);
    int count = 0;
    char *factor = NULL;
    for (; count < overrides->count; count++) items[count] = overrides->items[count];
    TrainConfig *config = train_config_read(names.config, NULL, 0, error);
    if (config && sets_scaling(overrides, "model.position.scaling.type=") &&
        !sets_scaling(overrides, "model.position.scaling.type=none") &&
        !sets_scaling(overrides, "model.position.scaling.factor=")) {
        double trained = (double)config->model.context_length;
        factor = string_format("model.position.scaling.factor=%.17g",
                               fmax(1, (double)longest / trained));
        items[count++] = factor;
    }
    if (config) {
        train_config_free(config);
        config = train_config_read(names.config, items, count, error);
    }
    Model *model = config ? model_create(&config->model, false, error) : NULL;
    if (model && !model_weights_load(model, names.model, error)) {
        model_free(model);
        model = NULL;
    }
    train_config_free(config);
    free(factor);
    free(items);
    run_directory_free(&names);
    return model;
}

bool context_lengths_parse(const char *text, int64_t **lengths, int64_t *count, Error *error) {
    enum { LONGEST = 1 << 20 };
    int32_t *numbers;
    Error ignored;
    if (!ids_parse(text, LONGEST + 1, &numbers, count, &ignored))
        return error_set(error, "--context \"%s\": give lengths such as 128,256,512", text);
    *lengths = allocate((size_t)*count, sizeof **lengths);
    bool good = true;
    for (int64_t i = 0; i < *count; i++) {
        (*lengths)[i] = numbers[i];
        good = good && numbers[i] > 0;
    }
    free(numbers);
    if (good) return true;
    free(*lengths);
    *lengths = NULL;
    return error_set(error, "--context \"%s\": a length is at least 1", text);
}

/* What came out for one length. */
typedef struct Column {
    int64_t T;
    double *losses, *tokens; /* (T) by position */
    Evaluation result;
} Column;

static void print_lengths(const ContextStudy *study, const Column *columns, int64_t count) {
    printf("%8s %10s %12s%s %12s\n", "context", "loss", "perplexity",
           study->task ? "   accuracy      whole" : "  bits/byte", "tokens");
    for (int64_t i = 0; i < count; i++) {
        const Evaluation *e = &columns[i].result;
        printf("%8lld %10.4f %12.2f", (long long)columns[i].T, evaluation_loss(e),
               evaluation_perplexity(e));
        if (study->task)
            printf(" %8.2f %% %8.2f %%", 100 * e->correct / e->tokens,
                   100 * e->whole / (double)e->sequences);
        else if (e->bytes > 0)
            printf(" %10.4f", evaluation_bits_per_byte(e));
        else
            printf(" %10s", "-");
        printf(" %12.0f\n", e->tokens);
    }
}

/* Mean loss over positions [begin, end) of a column; NAN when nothing counts there. */
static double mean_loss(const Column *column, int64_t begin, int64_t end) {
    double loss = 0, tokens = 0;
    for (int64_t t = begin; t < end && t < column->T; t++) {
        loss += column->losses[t];
        tokens += column->tokens[t];
    }
    return tokens > 0 ? loss / tokens : NAN;
}

/* Rows of positions whose width doubles: 0-15, 16-31, 32-63, … */
static void print_positions(const Column *columns, int64_t count, int64_t longest) {
    printf("\nloss by position in the window:\n%15s", "positions");
    for (int64_t i = 0; i < count; i++) printf(" %9lld", (long long)columns[i].T);
    putchar('\n');
    for (int64_t begin = 0, end = 16; begin < longest; begin = end, end *= 2) {
        printf("%7lld-%-7lld", (long long)begin, (long long)(end < longest ? end : longest) - 1);
        for (int64_t i = 0; i < count; i++) {
            double loss = mean_loss(&columns[i], begin, end);
            if (isfinite(loss))
                printf(" %9.4f", loss);
            else
                printf(" %9s", "");
        }
        putchar('\n');
    }
}

/* One curve per length, averaged over short stretches of positions. */
static bool draw(const ContextStudy *study, const Column *columns, int64_t count, int64_t longest,
                 Error *error) {
    int64_t stretch = longest > 64 ? longest / 64 : 1, points = (longest + stretch - 1) / stretch;
    Table table = {.rows = points};
    double *position = table_add(&table, string_copy("position"));
    for (int64_t p = 0; p < points; p++)
        position[p] = (double)(p * stretch) + (double)(stretch - 1) / 2;
    for (int64_t i = 0; i < count; i++) {
        double *losses = table_add(&table, string_format("context %lld", (long long)columns[i].T));
        for (int64_t p = 0; p < points; p++)
            losses[p] = mean_loss(&columns[i], p * stretch, (p + 1) * stretch);
    }
    const ChartMarker marker = {(double)study->model->config.context_length, true,
                                "trained length"};
    const Chart chart = {.title = study->title,
                         .x = {.title = "position in the window"},
                         .y = {.title = "loss (nats a token)"},
                         .series = table.series + 1,
                         .series_count = (int)count,
                         .markers = &marker,
                         .marker_count = marker.value < (double)longest};
    char *svg = path_join(study->folder, "context.svg");
    char *csv = path_join(study->folder, "context.csv");
    bool written = directory_create(study->folder, error) &&
                   svg_chart_write(svg, &chart, 1, error) && table_write(&table, csv, error);
    if (written) printf("\n%s shows the loss by position\n", svg);
    table_free(&table);
    free(svg);
    free(csv);
    return written;
}

bool context_study(const ContextStudy *study, const int64_t *lengths, int64_t count, Error *error) {
    Column *columns = allocate_zeroed((size_t)count, sizeof *columns);
    Evaluator *evaluator = evaluator_new(study->model, parallel_threads(), NULL);
    int64_t longest = 0;
    bool done = true;
    for (int64_t i = 0; i < count && done; i++) {
        Column *column = &columns[i];
        EvaluationSource source = study->source(study->context, lengths[i]);
        column->T = source.T;
        column->losses = allocate((size_t)source.T, sizeof(double));
        column->tokens = allocate((size_t)source.T, sizeof(double));
        EvaluationOptions options = {.token_bytes = study->token_bytes,
                                     .position_losses = column->losses,
                                     .position_tokens = column->tokens};
        done = evaluate(evaluator, &source, &options, &column->result, error);
        if (source.T > longest) longest = source.T;
    }
    evaluator_free(evaluator);
    if (done) {
        print_lengths(study, columns, count);
        print_positions(columns, count, longest);
        done = !study->folder || draw(study, columns, count, longest, error);
    }
    for (int64_t i = 0; i < count; i++) free(columns[i].losses), free(columns[i].tokens);
    free(columns);
    return done;
}
