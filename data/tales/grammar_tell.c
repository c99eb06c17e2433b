/* Expands a grammar into a story: draws alternatives, remembers who is who, and looks after spaces,
 * capitals and articles, so that the grammar's text need not. */
#include <string.h>

#include "base/random.h"
#include "grammar_parts.h"

static bool stop(Grammar *g, const Rule *rule, const char *what, int name) {
    const Name *n = name < 0 ? NULL : &g->names[name];
    return error_set(g->error, "%s:%d: story %llu: %s%s%.*s", g->path, rule ? rule->line : 0,
                     (unsigned long long)g->number, what, n ? " " : "", n ? (int)n->size : 0,
                     n ? n->text : "");
}

/* A whole number in [0, n). Philox gives four 32-bit words a block; the high half of a product
 * needs neither division nor floating point, so every machine draws the same. */
static int draw(Grammar *g, int n) {
    if (n == 1) return 0;
    if (g->random_left == 0) {
        uint32_t counter[4] = {g->random_block++, (uint32_t)g->number, (uint32_t)(g->number >> 32),
                               RANDOM_TALES};
        uint32_t key[2] = {(uint32_t)g->seed, (uint32_t)(g->seed >> 32)};
        random_philox(counter, key, g->random);
        g->random_left = 4;
    }
    return (int)((uint64_t)g->random[--g->random_left] * (uint64_t)n >> 32);
}

/* ---- text ---- */

static bool starts_with_vowel_sound(const char *word, size_t size) {
    static const char *consonants[] = {"uni", "use", "usu", "one", "eu"};
    static const char *vowels[] = {"hour", "honest", "honor"};
    for (size_t i = 0; i < sizeof vowels / sizeof *vowels; i++)
        if (size >= strlen(vowels[i]) && memcmp(word, vowels[i], strlen(vowels[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof consonants / sizeof *consonants; i++)
        if (size >= strlen(consonants[i]) &&
            memcmp(word, consonants[i], strlen(consonants[i])) == 0)
            return false;
    return memchr("aeiouAEIOU", *word, 10) != NULL;
}

/* Whether a letter put at the end of the story starts a sentence: first in a paragraph, after a
 * full stop and a space (or a quotation mark between), or first in a quotation. */
static bool at_sentence_start(const Grammar *g) {
    const char *s = g->story;
    size_t n = g->size;
    if (n == 0 || s[n - 1] == '\n') return true;
    if (n == 1) return s[0] == '"';
    if (s[n - 1] == ' ' && s[n - 2] == '"') return n > 2 && s[n - 3] == '.'; /* "!" may go on */
    if (s[n - 1] == ' ') return memchr(".!?", s[n - 2], 3) != NULL;
    return s[n - 1] == '"' && (s[n - 2] == ' ' || s[n - 2] == '\n');
}

/* Appends text. What optional parts left behind is mended: no space doubles, none stands at the
 * start of a paragraph or before a comma or full stop. */
static void put(Grammar *g, const char *text, size_t size) {
    char last = g->size ? g->story[g->size - 1] : '\n';
    while (size && *text == ' ' && (last == ' ' || last == '\n')) text++, size--;
    if (size == 0) return;
    if (last == ' ' && memchr(",.!?", *text, 4)) g->size--;
    if (g->size + size + 2 > MAX_STORY) {
        g->overflow = true;
        return;
    }
    size_t first = *text == ' '; /* chunks are never more than one space and then words */
    if (g->article && first < size) {
        if (starts_with_vowel_sound(text + first, size - first)) {
            memmove(g->story + g->article + 1, g->story + g->article, g->size - g->article);
            g->story[g->article] = 'n';
            g->size++;
        }
        g->article = 0;
    }
    if (first) g->story[g->size++] = ' ';
    bool starts = at_sentence_start(g), capital = g->capital || starts;
    if (starts && !g->quoting) g->topic = NULL; /* name_person knows better, and says so after */
    if (first < size) {
        memcpy(g->story + g->size, text + first, size - first);
        char *letter = g->story + g->size;
        if (*letter == '"' && size - first > 1) letter++; /* a quotation's first letter */
        if (capital && *letter >= 'a' && *letter <= 'z') *letter = (char)(*letter - 'a' + 'A');
        if (capital && *letter != '"') g->capital = false;
        for (size_t i = first; i < size; i++) g->quoting ^= text[i] == '"';
        g->size += size - first;
    }
}

/* ---- expansion ---- */

static const Sequence *find_cell(const Grammar *g, int variable, int column) {
    const Value *value = &g->values[variable];
    for (int i = 0; i < value->count; i++) {
        const Table *table = value->parts[i]->table;
        if (column < 0) return &value->parts[i]->cells[0];
        for (int j = 0; j < table->column_count; j++)
            if (table->columns[j] == column) return &value->parts[i]->cells[j];
    }
    return NULL;
}

/* A column that the variable has not got counts as empty. */
static bool holds(const Grammar *g, const Condition *c) {
    const Sequence *cell = find_cell(g, c->variable, c->column);
    const Node *node = cell && cell->count ? &cell->nodes[0] : NULL;
    bool same = node ? node->kind == NODE_TEXT && node->size == c->size &&
                           memcmp(node->text, c->text, c->size) == 0
                     : c->size == 0;
    return same != c->negated;
}

static bool all_hold(const Grammar *g, const Alternative *alternative) {
    for (int i = 0; i < alternative->condition_count; i++)
        if (!holds(g, &alternative->conditions[i])) return false;
    return true;
}

/* A rule of three alternatives or more does not take the same one twice running within a story.
 * NULL: none fits. */
static const Alternative *choose(Grammar *g, Rule *rule) {
    int fitting[MAX_ALTERNATIVES], n = rule->count;
    if (rule->conditional) {
        n = 0;
        for (int i = 0; i < rule->count; i++)
            if (all_hold(g, &rule->alternatives[i])) fitting[n++] = i;
        if (n == 0) return NULL;
    }
    int k = draw(g, n), taken = rule->conditional ? fitting[k] : k;
    if (n > 2 && rule->story == g->number + 1 && rule->taken == taken) {
        k = (k + 1) % n;
        taken = rule->conditional ? fitting[k] : k;
    }
    rule->story = g->number + 1;
    rule->taken = taken;
    return &rule->alternatives[taken];
}

static bool is_taken(const Grammar *g, const Row *row, int except) {
    for (int i = 0; i < g->set_count; i++) {
        const Value *value = &g->values[g->set[i]];
        for (int j = 0; j < value->count; j++)
            if (value->parts[j] == row && g->set[i] != except) return true;
    }
    return false;
}

static const Row *row_at(const Source *source, int index) {
    int table = 0;
    while (index >= source->tables[table]->count) index -= source->tables[table++]->count;
    return &source->tables[table]->rows[index];
}

/* Draws each part's row; one that another variable holds gives way to the next free one. */
static void set_variable(Grammar *g, const Node *node) {
    Value value = {.count = node->count};
    for (int i = 0; i < node->count; i++) {
        const Source *source = &node->sources[i];
        int total = 0;
        for (int j = 0; j < source->count; j++) total += source->tables[j]->count;
        int index = draw(g, total);
        for (int tries = 1; tries < total && is_taken(g, row_at(source, index), node->variable);
             tries++)
            index = (index + 1) % total;
        value.parts[i] = row_at(source, index);
    }
    if (g->values[node->variable].count == 0) g->set[g->set_count++] = node->variable;
    g->values[node->variable] = value;
}

static bool expand(Grammar *g, const Sequence *sequence, const Rule *in);

/* The parameters hold the arguments' values while the rule is expanded. */
static bool expand_rule(Grammar *g, const Node *node, const Rule *in) {
    Rule *rule = node->rule;
    if (g->depth == MAX_DEPTH) return stop(g, in, "a rule without end:", rule->name);
    Value saved[MAX_ARGUMENTS], given[MAX_ARGUMENTS];
    for (int i = 0; i < node->count; i++) {
        given[i] = g->values[node->arguments[i]];
        if (given[i].count == 0) return stop(g, in, "used before it is set:", node->arguments[i]);
    }
    for (int i = 0; i < node->count; i++) {
        saved[i] = g->values[rule->parameters[i]];
        g->values[rule->parameters[i]] = given[i];
    }
    const Alternative *alternative = choose(g, rule);
    if (alternative == NULL) return stop(g, rule, "no alternative fits in", rule->name);
    g->depth++;
    bool fine = expand(g, &alternative->sequence, rule->is_choice ? in : rule);
    g->depth--;
    for (int i = 0; i < node->count; i++) g->values[rule->parameters[i]] = saved[i];
    return fine;
}

/* Whether two people are spoken of with the same pronoun. */
static bool sound_alike(const Grammar *g, const Row *a, const Row *b) {
    for (int i = 0; i < a->table->column_count; i++)
        for (int j = 0; j < b->table->column_count; j++)
            if (a->table->columns[i] == g->they_name && b->table->columns[j] == g->they_name) {
                const Node *one = a->cells[i].nodes, *two = b->cells[j].nodes;
                return one->size == two->size && memcmp(one->text, two->text, one->size) == 0;
            }
    return true;
}

static bool is_known(const Grammar *g, const Row *row) {
    for (int i = 0; i < g->known_count; i++)
        if (g->known[i] == row) return true;
    return false;
}

/* A person is named: by the rule "introduce" at first, by a pronoun where it is clear, else by name.
 * `possessive`: "'s" follows, so a pronoun would not do. */
static bool name_person(Grammar *g, const Node *node, bool possessive, const Rule *in) {
    const Row *row = g->values[node->variable].parts[0];
    const Sequence *cell = find_cell(g, node->variable, node->column);
    bool named = cell == &row->cells[0]; /* not a pronoun, kind or trait */
    bool bare = node->column < 0 && !g->quoting, known = is_known(g, row);
    bool starts = !g->quoting && at_sentence_start(g);
    bool paragraph = g->size == 0 || g->story[g->size - 1] == '\n';
    const Row *topic = g->topic;
    if (named && !g->quoting && !known && g->known_count < MAX_KNOWN)
        g->known[g->known_count++] = row;
    if (bare && !known && g->introduce_name >= 0) {
        Node call = {.rule = g->names[g->introduce_name].rule, .count = 1};
        call.arguments[0] = node->variable;
        if (!expand_rule(g, &call, in)) return false;
    } else {
        if (bare && starts && !paragraph && !possessive && topic == row && draw(g, 3) > 0)
            cell = find_cell(g, node->variable, g->they_name);
        if (!expand(g, cell, in)) return false;
    }
    if (starts)
        g->topic = row;
    else if (named && topic && topic != row && sound_alike(g, topic, row))
        g->topic = NULL;
    return true;
}

static bool expand(Grammar *g, const Sequence *sequence, const Rule *in) {
    for (int i = 0; i < sequence->count; i++) {
        const Node *node = &sequence->nodes[i];
        const Sequence *cell;
        switch (node->kind) {
        case NODE_TEXT:
            put(g, node->text, node->size);
            break;
        case NODE_SET:
            set_variable(g, node);
            break;
        case NODE_CAPITAL:
            g->capital = true;
            break;
        case NODE_ARTICLE:
            put(g, "a", 1);
            g->article = g->size;
            break;
        case NODE_PARAGRAPH:
            while (g->size && g->story[g->size - 1] == ' ') g->size--;
            g->story[g->size++] = '\n';
            break;
        case NODE_FIELD:
            cell = find_cell(g, node->variable, node->column);
            if (cell == NULL && g->values[node->variable].count == 0)
                return stop(g, in, "used before it is set:", node->variable);
            if (cell == NULL) return stop(g, in, "a variable without the column", node->column);
            if (g->depth == MAX_DEPTH) return stop(g, in, "a row without end", -1);
            g->depth++;
            if (find_cell(g, node->variable, g->self_name)) {
                const Node *next = i + 1 < sequence->count ? node + 1 : NULL;
                bool possessive = next && next->kind == NODE_TEXT && *next->text == '\'';
                if (!name_person(g, node, possessive, in)) return false;
            } else if (!expand(g, cell, in)) {
                return false;
            }
            g->depth--;
            break;
        case NODE_RULE:
        case NODE_CHOICE:
            if (!expand_rule(g, node, in)) return false;
            break;
        }
    }
    return true;
}

const char *grammar_story(Grammar *g, uint64_t seed, uint64_t number, size_t *size, Error *error) {
    g->seed = seed;
    g->number = number;
    g->random_left = 0;
    g->random_block = 0;
    g->depth = 0;
    g->size = g->article = 0;
    g->capital = g->overflow = g->quoting = false;
    g->topic = NULL;
    g->known_count = 0;
    g->error = error;
    for (int i = 0; i < g->set_count; i++) g->values[g->set[i]].count = 0;
    g->set_count = 0;
    Node story = {.kind = NODE_RULE, .rule = g->names[g->story_name].rule};
    if (!expand_rule(g, &story, story.rule)) return NULL;
    if (g->overflow) return stop(g, story.rule, "longer than 64 kB", -1), NULL;
    while (g->size && g->story[g->size - 1] == ' ') g->size--;
    *size = g->size;
    return g->story;
}
