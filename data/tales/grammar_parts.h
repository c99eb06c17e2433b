/* What a grammar is made of, for grammar_parse.c, which builds it, and grammar_tell.c, which reads it. */
#ifndef TINYLM_DATA_TALES_GRAMMAR_PARTS_H
#define TINYLM_DATA_TALES_GRAMMAR_PARTS_H

#include "grammar.h"

enum {
    MAX_NAMES = 2048, /* rules, tables, variables and columns together */
    MAX_PARTS = 4,    /* rows that a variable holds: a name, a kind, a trait … */
    MAX_ARGUMENTS = 3,
    MAX_COLUMNS = 16,
    MAX_ALTERNATIVES = 512, /* of a rule */
    MAX_UNION = 4,
    MAX_DEPTH = 64,
    MAX_KNOWN = 16,
    MAX_STORY = 1 << 16,
};

typedef enum NodeKind {
    NODE_TEXT,      /* letters as they are */
    NODE_RULE,      /* {rule arguments} */
    NODE_CHOICE,    /* [one|other] */
    NODE_FIELD,     /* {variable} or {variable.column} */
    NODE_SET,       /* {variable := table + table} */
    NODE_ARTICLE,   /* {a}: a or an, as the next word wants it */
    NODE_PARAGRAPH, /* {p} */
    NODE_CAPITAL,   /* ^ */
} NodeKind;

/* A stretch of the file's text. */
typedef struct Span {
    const char *at, *end;
} Span;

typedef struct Line {
    Span span;
    int number;
    bool is_header;
    int name; /* that a header line defines */
} Line;

typedef struct Rule Rule;
typedef struct Table Table;

/* The tables that one part of a variable is drawn from, as if they were one. */
typedef struct Source {
    Table *tables[MAX_UNION];
    int count;
} Source;

typedef struct Node {
    NodeKind kind;
    int count;        /* of arguments or sources */
    const char *text; /* NODE_TEXT: points into the grammar's copy of the file */
    size_t size;
    int variable, column; /* names; column -1: the first one */
    int arguments[MAX_ARGUMENTS];
    Rule *rule;      /* NODE_RULE and NODE_CHOICE */
    Source *sources; /* NODE_SET */
} Node;

typedef struct Sequence {
    Node *nodes;
    int count;
} Sequence;

typedef struct Condition {
    int variable, column;
    bool negated;
    const char *text;
    size_t size;
} Condition;

typedef struct Alternative {
    Condition *conditions;
    int condition_count;
    Sequence sequence;
} Alternative;

struct Rule {
    int name, line;
    int parameters[MAX_ARGUMENTS], parameter_count;
    bool is_choice; /* written inline: spaces around its bars are text */
    bool conditional;
    Alternative *alternatives;
    int count;
    uint64_t story; /* the last story that used it, plus 1, and what it took there */
    int taken;
};

typedef struct Row {
    Table *table;
    Sequence *cells; /* one for each column of the table */
} Row;

struct Table {
    int name, line;
    int columns[MAX_COLUMNS], column_count;
    const char *defaults[MAX_COLUMNS]; /* NULL: every row must say */
    size_t default_sizes[MAX_COLUMNS];
    Row *rows;
    int count;
};

/* Words that the rule "same" lists as first of a line, and all that may stand in their place. */
typedef struct Phrase {
    Span words;
    Rule *rule;
} Phrase;

typedef struct Name {
    const char *text;
    size_t size;
    Rule *rule;
    Table *table;
    bool is_set;   /* a variable: a parameter, or set somewhere */
    int read_line; /* where it is first read as a variable, 0: nowhere */
} Name;

typedef struct Value {
    const Row *parts[MAX_PARTS];
    int count;
} Value;

struct Grammar {
    char *path;
    char *text; /* the file, without comments, its lines joined where they go on */
    Line *lines;
    int line_count;
    Name names[MAX_NAMES];
    int name_count;
    int same_name, story_name, introduce_name, they_name, self_name; /* -1: the grammar has none */
    Rule **rules; /* the named ones and the inline ones, to be freed */
    int rule_count;
    Phrase *phrases;
    int phrase_count;
    Table **tables;
    int table_count;

    /* while a story is told */
    Value values[MAX_NAMES];
    int set[MAX_NAMES], set_count; /* the variables that have been set, parameters apart */
    uint64_t seed, number;
    uint32_t random[4], random_block;
    int random_left;
    int depth;
    char story[MAX_STORY];
    size_t size;
    size_t article; /* where an 'n' may have to go: just after a fresh "a"; 0: nowhere */
    bool capital;   /* the next letter becomes a capital */
    bool overflow;
    bool quoting;     /* between quotation marks */
    const Row *topic; /* whom the last sentence began with; NULL: a pronoun would not be clear */
    const Row *known[MAX_KNOWN]; /* who has been named so far */
    int known_count;
    Error *error;
};

#endif
