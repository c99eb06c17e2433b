/* The tape: reverse-mode automatic differentiation, and the memory of a training step.
 *
 * Every operation of the model goes through tape_apply, which computes it at once and, while the
 * tape is recording, writes it down as a Node. tape_backward walks the nodes in reverse order and
 * lets each add its part to the gradients of its inputs.
 *
 * Memory. Activations lie in an arena in tape order, and the whole arena is taken back by tape_reset.
 * Gradients of activations, transient tensors and scratch come from a pool of recurring blocks. After
 * the first step both ask the system for nothing any more. Gradients of parameters lie in one flat
 * buffer that belongs to the caller (one per thread in training).
 *
 * One tape belongs to one thread; in training each worker has its own. The tape cuts an operation
 * into as many parts as threads may share it (parallel_share). */
#ifndef TINYLM_TENSOR_TAPE_H
#define TINYLM_TENSOR_TAPE_H

#include "base/arena.h"
#include "tensor/tensor.h"

typedef struct Tape Tape;
typedef struct Node Node;

/* Where the time goes, for the table of the benchmark. */
typedef enum OperationKind {
    KIND_MATMUL,
    KIND_ATTENTION,
    KIND_NORM,
    KIND_ACTIVATION,
    KIND_HEAD,
    KIND_OTHER,
    KIND_COUNT
} OperationKind;

/* An operation: its forward and its backward, over a range of independent units of work (rows,
 * sequence-head pairs), so that one thread can do all of them and a team can share them. */
typedef struct Operation {
    const char *name;
    OperationKind kind;
    unsigned backward_reads;  /* bit i: backward reads the values of inputs[i] */
    unsigned passes_gradient; /* bit i: d/d inputs[i] is d/d output itself; the tape handles it */
    unsigned adds_gradient; /* bit i: backward only adds to d/d inputs[i], which the tape zeroes */
    bool gradient_in_forward; /* forward writes the gradients of its inputs; there is no backward */
    int64_t (*units)(const Node *node);                  /* NULL: 1 */
    int64_t (*scratch)(const Node *node, bool backward); /* reals a thread needs; NULL: none */
    int64_t (*flops)(
        const Node *node); /* of the products in forward, 2 per multiply-add; or NULL */
    void (*forward)(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch);
    void (*backward)(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch);
    /* The same as definitions in loops (tensor/plain/), over all units at once; plain_backward adds to
     * all gradients. NULL: forward and backward are such loops themselves. */
    void (*plain_forward)(const Node *node);
    void (*plain_backward)(const Node *node);
    bool backward_splits; /* units may run backward at the same time (no shared weight gradient) */
} Operation;

enum { NODE_MAX_INPUTS = 4 };

struct Node {
    const Operation *operation;
    const char *module; /* "layers.3.attn": for messages */
    Tensor *inputs[NODE_MAX_INPUTS];
    int input_count;
    Tensor *output;
    const void *options; /* the operation's own settings, copied to the tape */
    real *saved;         /* numbers forward leaves for backward (1/rms, log-sum-exp) */
    int64_t saved_size;
    bool saved_resident; /* the arena holds it (while planning without an address) */
    int64_t checkpoint;  /* index of the checkpoint whose operations are computed again, or -1 */

    /* During backward: the output's gradient, and for each input where its part goes (NULL: no
     * gradient is required) and whether to add to what is there (1) or to overwrite it (0). */
    const real *output_gradient;
    real *input_gradients[NODE_MAX_INPUTS];
    real accumulate[NODE_MAX_INPUTS];
};

typedef enum TapeMode {
    TAPE_EVALUATE, /* compute, and forget what the next operation does not read */
    TAPE_RECORD,   /* keep nodes and activations for tape_backward */
    TAPE_PLAN      /* like record, but nothing is computed: shapes, bytes and FLOPs are counted */
} TapeMode;

struct Tape {
    /* Settings, by the owner, before the first operation. */
    TapeMode mode;       /* may change between evaluate and record after a tape_reset */
    bool plain;          /* compute with the definitions in tensor/plain/ */
    bool recompute;      /* activation checkpointing: see tape_checkpoint_begin */
    bool find_nonfinite; /* stop noting at the first output that holds a NaN or infinity */
    real *gradients;     /* flat buffer of the parameters' gradients, or NULL: none wanted */
    int64_t parameter_count;
    const char *module; /* copied to each node */

    /* Called when the last contribution to a parameter's gradient of this tape has been added in the
     * pass marked `last_pass` (monitoring, summing over processes). May be NULL. */
    void (*on_final)(void *context, const Tensor *parameter);
    void *on_final_context;
    bool last_pass;

    /* Results. */
    int64_t forward_flops;      /* since tape_reset */
    double seconds[KIND_COUNT]; /* since tape_init */
    /* With find_nonfinite: module and name of the first operation with a bad output, else NULL. Not the
     * node itself, whose memory is given back at the end of its checkpoint. */
    const char *nonfinite_module, *nonfinite_operation;

    /* Private. */
    Arena headers, activations;
    Pool pool;
    Node **nodes;
    int64_t node_count, node_capacity;
    struct TapeCheckpoint *checkpoints;
    int64_t checkpoint_count, checkpoint_capacity;
    Tensor **pooled;
    int64_t pooled_count, pooled_capacity;
    bool inside_checkpoint;
    unsigned char
        *touched; /* per parameter: its gradient has been written since tape_begin_gradients */
    int *uses;    /* per parameter: uses not yet seen by backward */
};

void tape_init(Tape *tape, int64_t parameter_count, TapeMode mode);
void tape_free(Tape *tape);
/* Bytes of activations, gradients and scratch at the peak so far (not the parameters). */
size_t tape_peak_bytes(const Tape *tape);

/* Computes operation(inputs) and returns the output tensor of the given shape. `options` (of
 * options_size bytes) is copied. saved_size reals are saved for backward. `transient`: see Tensor. */
typedef struct OperationCall {
    const Operation *operation;
    const char *name;
    Tensor *inputs[NODE_MAX_INPUTS]; /* up to the first NULL */
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    const void *options;
    size_t options_size;
    int64_t saved_size;
    bool transient;
} OperationCall;
Tensor *tape_apply(Tape *tape, const OperationCall *call);

/* A constant tensor around memory of the caller, which must stay until tape_reset. No gradient. */
Tensor *tape_constant(Tape *tape, const char *name, real *data, int rank, const int64_t *shape);

/* Activation checkpointing: of the operations between begin and end only `output` is needed later.
 * While evaluating, and while recording with `recompute`, their memory is released at the end; backward
 * then computes them again from `input`. Recording without `recompute`, both do nothing. */
typedef struct TapeCheckpoint {
    int64_t first_node, end_node; /* [first, end) */
    size_t mark, header_mark;
    Tensor *input;
} TapeCheckpoint;
TapeCheckpoint tape_checkpoint_begin(Tape *tape, Tensor *input);
Tensor *tape_checkpoint_end(Tape *tape, TapeCheckpoint *checkpoint, Tensor *output);

/* Forgets which parameter gradients have been written: the next writer of each overwrites. */
void tape_begin_gradients(Tape *tape);
/* Zeroes the gradients of parameters that received none; `parameters` are those the model uses. */
void tape_end_gradients(Tape *tape, Tensor *const *parameters, int64_t count);

/* Runs backward from the recorded nodes. The gradients that start it must be there: the forward of
 * head_loss writes that of its input, tests use tape_seed_gradient. */
void tape_backward(Tape *tape);
/* Sets the gradient of an activation to `values` (same size) before tape_backward. */
void tape_seed_gradient(Tape *tape, Tensor *x, const real *values);

/* Forgets all nodes and activations; keeps the memory for the next pass. */
void tape_reset(Tape *tape);

#endif
