#include "tensor/tape.h"

#include <omp.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/parallel.h"

/* One gradient buffer of the pool. `shares` tensors point to it; who wants to add to a shared one
 * takes a copy first. In a residual network this makes the gradient of x + f(x) flow on to x without
 * a copy: by the time the norm of f adds its part, f's own share has been given back. */
typedef struct Gradient {
    real *data;
    int shares;
} Gradient;

static bool records(const Tape *tape) {
    return tape->mode != TAPE_EVALUATE;
}

static size_t bytes_of(const Tensor *x) {
    return (size_t)tensor_size(x) * sizeof(real);
}

void tape_init(Tape *tape, int64_t parameter_count, TapeMode mode) {
    *tape = (Tape){.mode = mode, .parameter_count = parameter_count, .module = "model"};
    tape->activations.counting = tape->pool.counting = mode == TAPE_PLAN;
    tape->touched = allocate_zeroed((size_t)parameter_count, sizeof *tape->touched);
    tape->uses = allocate_zeroed((size_t)parameter_count, sizeof *tape->uses);
}

void tape_free(Tape *tape) {
    tape_reset(tape);
    arena_free(&tape->headers);
    arena_free(&tape->activations);
    pool_free(&tape->pool);
    free(tape->nodes);
    free(tape->checkpoints);
    free(tape->pooled);
    free(tape->touched);
    free(tape->uses);
    *tape = (Tape){0};
}

size_t tape_peak_bytes(const Tape *tape) {
    return tape->activations.peak + tape->pool.bytes;
}

/* ---- memory of one tensor ---- */

/* Puts x on a block of the pool; the list is for tape_reset, which gives all of them back. */
static void hold_block(Tape *tape, Tensor *x, real *block) {
    x->data = block;
    x->resident = x->pooled = true;
    x->inside_checkpoint = tape->inside_checkpoint;
    array_reserve(tape->pooled, tape->pooled_count, tape->pooled_capacity, 1);
    tape->pooled[tape->pooled_count++] = x;
}

static void make_resident(Tape *tape, Tensor *x) {
    if (x->resident) return;
    if (x->transient) {
        hold_block(tape, x, pool_take(&tape->pool, bytes_of(x)));
    } else {
        x->data = arena_take(&tape->activations, bytes_of(x));
        x->resident = true;
    }
}

static void release(Tape *tape, Tensor *x) {
    if (!x->resident || !x->pooled) return;
    pool_give(&tape->pool, x->data);
    x->data = NULL;
    x->resident = x->pooled = false;
    for (int64_t i = tape->pooled_count - 1; i >= 0; i--) {
        if (tape->pooled[i] != x) continue;
        tape->pooled[i] = tape->pooled[--tape->pooled_count];
        break;
    }
}

/* ---- forward ---- */

/* In multiply-adds of a product (base/parallel.h): an element of an elementwise operation takes as long
 * as some 64 of them, and the products of attention are a quarter as fast. */
static int64_t work_of(const Node *node) {
    int64_t flops = node->operation->flops ? node->operation->flops(node) : 0;
    return 64 * tensor_size(node->output) + 2 * flops;
}

/* One operation, cut into parts. */
typedef struct Job {
    Tape *tape;
    Node *node;
    void (*function)(Tape *, Node *, int64_t, int64_t, real *);
    int64_t units, scratch;
    int parts;
    real *memory; /* (parts, scratch) or NULL */
} Job;

static void run_part(void *context, int part) {
    const Job *job = context;
    job->function(job->tape, job->node, job->units * part / job->parts,
                  job->units * (part + 1) / job->parts,
                  job->memory ? job->memory + job->scratch * part : NULL);
}

/* Calls forward or backward over all units, shared by as many threads as may. */
static void run(Tape *tape, Node *node, bool backward) {
    const Operation *operation = node->operation;
    void (*plain)(const Node *) = backward ? operation->plain_backward : operation->plain_forward;
    Job job = {.tape = tape,
               .node = node,
               .function = backward ? operation->backward : operation->forward,
               .units = operation->units ? operation->units(node) : 1,
               .scratch = operation->scratch ? operation->scratch(node, backward) : 0};
    if (job.units == 0) return;
    bool whole = backward && !operation->backward_splits;
    job.parts = whole ? 1 : parallel_parts(job.units, work_of(node));
    if (job.scratch)
        job.memory = pool_take(&tape->pool, (size_t)(job.scratch * job.parts) * sizeof(real));
    double start = omp_get_wtime();
    if (tape->mode == TAPE_PLAN) {
        /* counted, not computed */
    } else if (tape->plain && plain) {
        plain(node);
    } else if (job.parts == 1) {
        job.function(tape, node, 0, job.units, job.memory);
    } else {
        parallel_run(job.parts, run_part, &job);
    }
    tape->seconds[operation->kind] += omp_get_wtime() - start;
    if (job.memory) pool_give(&tape->pool, job.memory);
}

static void compute(Tape *tape, Node *node);
static void open_gradients(Tape *tape, Node *node);

/* Makes sure the values of x are there, computing a released tensor again. The chain of released
 * tensors is short (a transient reads saved ones), so the recursion is at most a few levels deep. */
static void ensure_values(Tape *tape, Tensor *x) {
    if (!x->resident && x->producer) compute(tape, x->producer);
}

static void compute(Tape *tape, Node *node) {
    for (int i = 0; i < node->input_count; i++) ensure_values(tape, node->inputs[i]);
    make_resident(tape, node->output);
    if (records(tape) && node->operation->gradient_in_forward) open_gradients(tape, node);
    if (!node->saved_resident && node->saved_size)
        node->saved = arena_take(&tape->activations, (size_t)node->saved_size * sizeof(real));
    node->saved_resident = true;
    run(tape, node, false);
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i]->transient) release(tape, node->inputs[i]);
}

static void note_nonfinite(Tape *tape, const Node *node) {
    if (!node->output->resident) return;
    for (int64_t i = 0, n = tensor_size(node->output); i < n; i++) {
        if (isfinite(node->output->data[i])) continue;
        tape->nonfinite_module = node->module;
        tape->nonfinite_operation = node->operation->name;
        return;
    }
}

Tensor *tape_apply(Tape *tape, const OperationCall *call) {
    Node *node = arena_take(&tape->headers, sizeof *node);
    Tensor *output = arena_take(&tape->headers, sizeof *output);
    *output = (Tensor){.name = call->name,
                       .rank = call->rank,
                       .parameter = -1,
                       .producer = node,
                       .transient = call->transient};
    memcpy(output->shape, call->shape, sizeof output->shape);
    *node = (Node){.operation = call->operation,
                   .module = tape->module,
                   .output = output,
                   .saved_size = call->saved_size,
                   .checkpoint = -1};
    while (node->input_count < NODE_MAX_INPUTS && call->inputs[node->input_count]) {
        Tensor *input = call->inputs[node->input_count];
        node->inputs[node->input_count++] = input;
        if (records(tape) && input->parameter >= 0) tape->uses[input->parameter]++;
    }
    if (call->options_size) {
        void *options = arena_take(&tape->headers, call->options_size);
        node->options = memcpy(options, call->options, call->options_size);
    }
    if (records(tape)) {
        array_reserve(tape->nodes, tape->node_count, tape->node_capacity, 1);
        tape->nodes[tape->node_count++] = node;
    }
    if (call->operation->flops) tape->forward_flops += call->operation->flops(node);
    compute(tape, node);
    if (tape->find_nonfinite && !tape->nonfinite_module) note_nonfinite(tape, node);
    return output;
}

Tensor *tape_constant(Tape *tape, const char *name, real *data, int rank, const int64_t *shape) {
    Tensor *x = arena_take(&tape->headers, sizeof *x);
    *x = tensor_constant(name, data, rank, shape);
    return x;
}

/* ---- checkpoints ---- */

TapeCheckpoint tape_checkpoint_begin(Tape *tape, Tensor *input) {
    tape->inside_checkpoint = true;
    return (TapeCheckpoint){.first_node = tape->node_count,
                            .mark = arena_mark(&tape->activations),
                            .header_mark = arena_mark(&tape->headers),
                            .input = input};
}

Tensor *tape_checkpoint_end(Tape *tape, TapeCheckpoint *checkpoint, Tensor *output) {
    tape->inside_checkpoint = false;
    if (records(tape) && !tape->recompute) return output;
    /* The output moves to the pool, and the memory of everything else is given back. */
    real *block = pool_take(&tape->pool, bytes_of(output));
    if (tape->mode != TAPE_PLAN) memcpy(block, output->data, bytes_of(output));
    for (int64_t i = tape->pooled_count - 1; i >= 0; i--) /* transients that nothing has read */
        if (tape->pooled[i]->inside_checkpoint) release(tape, tape->pooled[i]);
    arena_rewind(&tape->activations, checkpoint->mark);
    if (records(tape)) {
        checkpoint->end_node = tape->node_count;
        for (int64_t i = checkpoint->first_node; i < checkpoint->end_node; i++) {
            tape->nodes[i]->checkpoint = tape->checkpoint_count;
            tape->nodes[i]->saved_resident = false;
            tape->nodes[i]->output->resident = false;
        }
        array_reserve(tape->checkpoints, tape->checkpoint_count, tape->checkpoint_capacity, 1);
        tape->checkpoints[tape->checkpoint_count++] = *checkpoint;
    } else {
        /* Nothing refers to the checkpoint's headers or its input any more. */
        Tensor moved = *output;
        release(tape, checkpoint->input);
        arena_rewind(&tape->headers, checkpoint->header_mark);
        output = arena_take(&tape->headers, sizeof *output);
        *output = moved;
        output->producer = NULL;
    }
    hold_block(tape, output, block);
    output->transient = false; /* to compute it again would take the whole checkpoint */
    return output;
}

/* Computes the inside of a checkpoint again, above everything that is in the arena now. */
static void recompute_checkpoint(Tape *tape, TapeCheckpoint *checkpoint) {
    checkpoint->mark = arena_mark(&tape->activations);
    for (int64_t i = checkpoint->first_node; i < checkpoint->end_node; i++) {
        Node *node = tape->nodes[i];
        if (!node->output->resident || node->saved_size) compute(tape, node);
    }
}

static void drop_checkpoint(Tape *tape, const TapeCheckpoint *checkpoint) {
    for (int64_t i = checkpoint->first_node; i < checkpoint->end_node; i++) {
        Node *node = tape->nodes[i];
        node->saved_resident = false;
        if (!node->output->pooled) node->output->resident = false;
    }
    arena_rewind(&tape->activations, checkpoint->mark);
}

/* ---- gradients ---- */

static void give_gradient_share(Tape *tape, Tensor *x) {
    Gradient *gradient = x->gradient;
    x->gradient = NULL;
    if (gradient && --gradient->shares == 0) pool_give(&tape->pool, gradient->data);
}

static void new_gradient(Tape *tape, Tensor *x) {
    x->gradient = arena_take(&tape->headers, sizeof *x->gradient);
    *x->gradient = (Gradient){pool_take(&tape->pool, bytes_of(x)), 1};
}

/* Where the gradient of x is to be written now, NULL if none is required; *accumulate is 1 when
 * something is there already that must be added to, else 0. */
static real *gradient_of(Tape *tape, Tensor *x, real *accumulate) {
    if (x->parameter >= 0) {
        if (!tape->gradients && tape->mode != TAPE_PLAN) return NULL;
        *accumulate = tape->touched[x->parameter];
        tape->touched[x->parameter] = 1;
        return tape->mode == TAPE_PLAN ? NULL : tape->gradients + x->offset;
    }
    if (!x->producer) return NULL;
    *accumulate = x->gradient != NULL;
    if (!x->gradient) {
        new_gradient(tape, x);
    } else if (x->gradient->shares > 1) {
        const real *shared = x->gradient->data;
        give_gradient_share(tape, x);
        new_gradient(tape, x);
        if (tape->mode != TAPE_PLAN) memcpy(x->gradient->data, shared, bytes_of(x));
    }
    return x->gradient->data;
}

void tape_seed_gradient(Tape *tape, Tensor *x, const real *values) {
    give_gradient_share(tape, x);
    new_gradient(tape, x);
    if (tape->mode != TAPE_PLAN) memcpy(x->gradient->data, values, bytes_of(x));
}

/* d/d input = d/d output: let the input share the output's gradient, or add it to what is there. */
static void pass_gradient(Tape *tape, Node *node, Tensor *input) {
    if (input->parameter < 0 && !input->producer) return;
    if (input->parameter < 0 && !input->gradient) {
        input->gradient = node->output->gradient;
        input->gradient->shares++;
        return;
    }
    real accumulate;
    real *gradient = gradient_of(tape, input, &accumulate);
    if (!gradient || tape->mode == TAPE_PLAN) return;
    const real *from = node->output->gradient->data;
    int64_t size = tensor_size(input);
#pragma omp simd
    for (int64_t i = 0; i < size; i++) gradient[i] = (accumulate != 0 ? gradient[i] : 0) + from[i];
}

/* Sets the node's input_gradients and accumulate, and zeroes what the operation only adds to. */
static void open_gradients(Tape *tape, Node *node) {
    const Operation *operation = node->operation;
    for (int i = 0; i < node->input_count; i++) {
        if (operation->passes_gradient & 1u << i) continue;
        node->input_gradients[i] = gradient_of(tape, node->inputs[i], &node->accumulate[i]);
        bool adds = operation->adds_gradient & 1u << i || (tape->plain && operation->plain_forward);
        if (!adds || !node->input_gradients[i] || node->accumulate[i] != 0 ||
            tape->mode == TAPE_PLAN)
            continue;
        memset(node->input_gradients[i], 0, bytes_of(node->inputs[i]));
        node->accumulate[i] = 1;
    }
}

void tape_begin_gradients(Tape *tape) {
    memset(tape->touched, 0, (size_t)tape->parameter_count);
}

void tape_end_gradients(Tape *tape, Tensor *const *parameters, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const Tensor *parameter = parameters[i];
        if (tape->touched[parameter->parameter]) continue;
        memset(tape->gradients + parameter->offset, 0, bytes_of(parameter));
        tape->touched[parameter->parameter] = 1;
    }
}

/* ---- backward ---- */

static void backward_node(Tape *tape, Node *node) {
    const Operation *operation = node->operation;
    node->output_gradient = node->output->gradient->data;
    for (int i = 0; i < node->input_count; i++)
        if (operation->passes_gradient & 1u << i) pass_gradient(tape, node, node->inputs[i]);
    for (int i = 0; i < node->input_count; i++)
        if (operation->backward_reads & 1u << i) ensure_values(tape, node->inputs[i]);
    open_gradients(tape, node);
    if (operation->backward) run(tape, node, true);
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i]->transient) release(tape, node->inputs[i]);
    give_gradient_share(tape, node->output);
}

void tape_backward(Tape *tape) {
    for (int64_t i = tape->node_count - 1; i >= 0; i--) {
        Node *node = tape->nodes[i];
        TapeCheckpoint *checkpoint =
            node->checkpoint >= 0 ? &tape->checkpoints[node->checkpoint] : NULL;
        if (checkpoint && i == checkpoint->end_node - 1) recompute_checkpoint(tape, checkpoint);
        if (node->output->gradient) backward_node(tape, node);
        if (checkpoint && i == checkpoint->first_node) drop_checkpoint(tape, checkpoint);
        for (int k = 0; k < node->input_count; k++) {
            const Tensor *input = node->inputs[k];
            if (input->parameter < 0 || --tape->uses[input->parameter] > 0) continue;
            if (tape->last_pass && tape->on_final) tape->on_final(tape->on_final_context, input);
        }
    }
}

void tape_reset(Tape *tape) {
    for (int64_t i = 0; i < tape->node_count; i++)
        give_gradient_share(tape, tape->nodes[i]->output);
    for (int64_t i = 0; i < tape->pooled_count; i++) pool_give(&tape->pool, tape->pooled[i]->data);
    if (tape->uses) memset(tape->uses, 0, (size_t)tape->parameter_count * sizeof *tape->uses);
    tape->pooled_count = tape->node_count = tape->checkpoint_count = 0;
    tape->forward_flops = 0;
    tape->nonfinite_module = NULL;
    arena_reset(&tape->activations);
    arena_reset(&tape->headers);
}
