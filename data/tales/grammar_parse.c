/* From the grammar's text to rules, tables and variables. */
#include "grammar_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Grammar *grammar;
    int line;
    Error *error;
} Reader;

static bool complain(Reader *r, const char *what, const char *text, size_t size) {
    return error_set(r->error, "%s:%d: %s%s%.*s%s", r->grammar->path, r->line, what,
                     text ? " '" : "", text ? (int)size : 0, text ? text : "", text ? "'" : "");
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_name_char(char c) {
    return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
}

static Span trimmed(Span s) {
    while (s.at < s.end && *s.at == ' ') s.at++;
    while (s.end > s.at && s.end[-1] == ' ') s.end--;
    return s;
}

/* Takes the part before the next `separator` that is outside of brackets off the front of `s`.
 * False when nothing is left. */
static bool take_part(Span *s, char separator, Span *part) {
    if (s->at > s->end) return false;
    int depth = 0;
    const char *p = s->at;
    for (; p < s->end && (*p != separator || depth > 0); p++) {
        if (*p == '[' || *p == '{') depth++;
        if (*p == ']' || *p == '}') depth--;
    }
    *part = (Span){s->at, p};
    s->at = p + 1;
    return true;
}

static bool take_word(Span *s, Span *word) {
    *s = trimmed(*s);
    const char *p = s->at;
    while (p < s->end && is_name_char(*p)) p++;
    *word = (Span){s->at, p};
    s->at = p;
    return word->at < word->end;
}

/* The number of a name; a new one the first time it is seen. -1 when there are too many. */
static int intern(Reader *r, Span word) {
    Grammar *g = r->grammar;
    size_t size = (size_t)(word.end - word.at);
    for (int i = 0; i < g->name_count; i++)
        if (g->names[i].size == size && memcmp(g->names[i].text, word.at, size) == 0) return i;
    if (g->name_count == MAX_NAMES) {
        complain(r, "too many names", NULL, 0);
        return -1;
    }
    g->names[g->name_count] = (Name){.text = word.at, .size = size};
    return g->name_count++;
}

static bool take_name(Reader *r, Span *s, int *name) {
    Span word;
    if (!take_word(s, &word)) return complain(r, "a name is missing in", s->at, s->end - s->at);
    return (*name = intern(r, word)) >= 0;
}

static Node *append_node(Sequence *s, NodeKind kind) {
    if ((s->count & (s->count - 1)) == 0) /* full at every power of two */
        s->nodes = reallocate(s->nodes, s->count ? 2 * s->count : 1, sizeof(Node));
    Node *node = &s->nodes[s->count++];
    *node = (Node){.kind = kind, .column = -1};
    return node;
}

static bool parse_alternatives(Reader *r, Rule *rule, Span text);

static Rule *new_rule(Grammar *g, int name, int line) {
    Rule *rule = allocate_zeroed(1, sizeof *rule);
    rule->name = name;
    rule->line = line;
    g->rules = reallocate(g->rules, g->rule_count + 1, sizeof *g->rules);
    return g->rules[g->rule_count++] = rule;
}

/* variable, or variable.column */
static bool parse_field(Reader *r, Span *s, int *variable, int *column) {
    *column = -1;
    if (!take_name(r, s, variable)) return false;
    Name *name = &r->grammar->names[*variable];
    if (name->read_line == 0) name->read_line = r->line;
    if (s->at == s->end || *s->at != '.') return true;
    s->at++;
    return take_name(r, s, column);
}

/* table|table + table + … */
static bool parse_sources(Reader *r, Span s, Node *node) {
    node->sources = allocate_zeroed(MAX_PARTS, sizeof(Source));
    Span part, item;
    while (take_part(&s, '+', &part)) {
        if (node->count == MAX_PARTS) return complain(r, "too many parts", NULL, 0);
        Source *source = &node->sources[node->count++];
        while (take_part(&part, '|', &item)) {
            int name;
            if (!take_name(r, &item, &name)) return false;
            Table *table = r->grammar->names[name].table;
            if (table == NULL)
                return complain(r, "no such table:", r->grammar->names[name].text,
                                r->grammar->names[name].size);
            if (source->count == MAX_UNION) return complain(r, "too many tables", NULL, 0);
            source->tables[source->count++] = table;
        }
    }
    return true;
}

/* What stands between { and }. */
static bool parse_reference(Reader *r, Span s, Sequence *out) {
    Grammar *g = r->grammar;
    Span whole = s = trimmed(s), word;
    if (!take_word(&s, &word))
        return complain(r, "a name is missing in", whole.at, whole.end - whole.at);
    size_t size = (size_t)(word.end - word.at);
    if (size == 1 && *word.at == 'a' && s.at == s.end)
        return append_node(out, NODE_ARTICLE) != NULL;
    if (size == 1 && *word.at == 'p' && s.at == s.end)
        return append_node(out, NODE_PARAGRAPH) != NULL;
    int name = intern(r, word);
    if (name < 0) return false;
    Span rest = trimmed(s);
    if (rest.end - rest.at >= 2 && rest.at[0] == ':' && rest.at[1] == '=') {
        Node *node = append_node(out, NODE_SET);
        node->variable = name;
        g->names[name].is_set = true;
        return parse_sources(r, (Span){rest.at + 2, rest.end}, node);
    }
    Rule *rule = g->names[name].rule;
    if (rule == NULL) {
        Node *node = append_node(out, NODE_FIELD);
        Span field = whole;
        if (!parse_field(r, &field, &node->variable, &node->column)) return false;
        if (field.at != field.end) return complain(r, "no such rule:", word.at, size);
        return true;
    }
    Node *node = append_node(out, NODE_RULE);
    node->rule = rule;
    for (; rest.at < rest.end; rest = trimmed(rest)) {
        if (node->count == MAX_ARGUMENTS) return complain(r, "too many arguments", NULL, 0);
        int variable, column;
        if (!parse_field(r, &rest, &variable, &column)) return false;
        node->arguments[node->count++] = variable;
    }
    if (node->count != rule->parameter_count)
        return complain(r, "wrong number of arguments for", word.at, size);
    return true;
}

/* The longest phrase of the rule "same" that begins here and ends with a word. */
static const Phrase *find_phrase(const Grammar *g, Span s) {
    const Phrase *best = NULL;
    for (int i = 0; i < g->phrase_count; i++) {
        const Phrase *phrase = &g->phrases[i];
        size_t size = (size_t)(phrase->words.end - phrase->words.at);
        if (size > (size_t)(s.end - s.at) || memcmp(phrase->words.at, s.at, size) != 0) continue;
        if (s.at + size < s.end && is_name_char(s.at[size])) continue;
        if (best == NULL || size > (size_t)(best->words.end - best->words.at)) best = phrase;
    }
    return best;
}

static void append_text(Grammar *g, Span s, Sequence *out) {
    const char *from = s.at, *p = s.at;
    while (p < s.end) {
        bool word_starts = p == s.at || !is_name_char(p[-1]);
        const Phrase *phrase = word_starts ? find_phrase(g, (Span){p, s.end}) : NULL;
        if (phrase && p > from) {
            Node *node = append_node(out, NODE_TEXT);
            node->text = from;
            node->size = (size_t)(p - from);
        }
        if (phrase) append_node(out, NODE_CHOICE)->rule = phrase->rule;
        p += phrase ? phrase->words.end - phrase->words.at : 1;
        if (phrase) from = p;
    }
    if (from < s.end) {
        Node *node = append_node(out, NODE_TEXT);
        node->text = from;
        node->size = (size_t)(s.end - from);
    }
}

static bool parse_sequence(Reader *r, Span s, Sequence *out) {
    while (s.at < s.end) {
        const char *p = s.at;
        if (*p == '^') {
            append_node(out, NODE_CAPITAL);
            s.at++;
        } else if (*p == '{' || *p == '[') {
            int depth = 0;
            do {
                if (*p == '[' || *p == '{') depth++;
                if (*p == ']' || *p == '}') depth--;
                p++;
            } while (p < s.end && depth > 0);
            if (depth > 0) return complain(r, "no end of bracket:", s.at, s.end - s.at);
            Span inside = {s.at + 1, p - 1};
            if (*s.at == '{') {
                if (!parse_reference(r, inside, out)) return false;
            } else {
                Rule *rule = new_rule(r->grammar, -1, r->line);
                rule->is_choice = true;
                append_node(out, NODE_CHOICE)->rule = rule;
                if (!parse_alternatives(r, rule, inside)) return false;
            }
            s.at = p;
        } else {
            while (p < s.end && !strchr("^{[", *p)) {
                if (strchr("}]|", *p))
                    return complain(r, "a stray bracket or bar in", s.at, s.end - s.at);
                p++;
            }
            append_text(r->grammar, (Span){s.at, p}, out);
            s.at = p;
        }
    }
    return true;
}

/* (variable.column=text & …) before an alternative. */
static bool parse_conditions(Reader *r, Span *s, Alternative *alternative) {
    if (s->at == s->end || *s->at != '(') return true;
    const char *end = memchr(s->at, ')', (size_t)(s->end - s->at));
    if (end == NULL) return complain(r, "no end of condition:", s->at, s->end - s->at);
    Span inside = {s->at + 1, end}, part;
    s->at = end + 1;
    if (s->at < s->end && *s->at == ' ') s->at++;
    while (take_part(&inside, '&', &part)) {
        alternative->conditions = reallocate(alternative->conditions,
                                             alternative->condition_count + 1, sizeof(Condition));
        Condition *c = &alternative->conditions[alternative->condition_count++];
        *c = (Condition){.negated = false};
        if (!parse_field(r, &part, &c->variable, &c->column)) return false;
        c->negated = part.at < part.end && *part.at == '!';
        part.at += c->negated;
        if (part.at >= part.end || *part.at != '=')
            return complain(r, "'=' is missing in a condition", NULL, 0);
        Span text = trimmed((Span){part.at + 1, part.end});
        c->text = text.at;
        c->size = (size_t)(text.end - text.at);
    }
    return true;
}

static bool parse_alternatives(Reader *r, Rule *rule, Span text) {
    Span part;
    while (take_part(&text, '|', &part)) {
        /* In a rule spaces around the bars are layout; in an inline choice they are text. */
        if (!rule->is_choice) part = trimmed(part);
        if (rule->count == MAX_ALTERNATIVES) return complain(r, "too many alternatives", NULL, 0);
        rule->alternatives =
            reallocate(rule->alternatives, rule->count + 1, sizeof *rule->alternatives);
        Alternative *alternative = &rule->alternatives[rule->count++];
        *alternative = (Alternative){0};
        if (!parse_conditions(r, &part, alternative)) return false;
        rule->conditional |= alternative->condition_count > 0;
        /* parsing may move rule->alternatives of other rules, never of this one */
        if (!parse_sequence(r, part, &alternative->sequence)) return false;
    }
    return true;
}

/* A line of the rule "same". It is read before there are phrases, so its own words stay. */
static bool parse_phrase(Reader *r, Span line, Phrase *phrase) {
    Span rest = line;
    take_part(&rest, '|', &phrase->words);
    phrase->words = trimmed(phrase->words);
    phrase->rule = new_rule(r->grammar, -1, r->line);
    bool fine = parse_alternatives(r, phrase->rule, line);
    phrase->rule->is_choice = true; /* written where it is used, but its spaces are layout */
    return fine;
}

static bool parse_rows(Reader *r, Table *table, Span text) {
    Span row_text, cell;
    while (take_part(&text, '|', &row_text)) {
        table->rows = reallocate(table->rows, table->count + 1, sizeof *table->rows);
        Row *row = &table->rows[table->count++];
        *row = (Row){table, allocate_zeroed(table->column_count, sizeof(Sequence))};
        int column = 0;
        while (take_part(&row_text, ';', &cell)) {
            if (column == table->column_count)
                return complain(r, "too many columns:", cell.at, cell.end - cell.at);
            if (!parse_sequence(r, trimmed(cell), &row->cells[column++])) return false;
        }
        for (; column < table->column_count; column++) {
            const char *text_of = table->defaults[column];
            if (text_of == NULL) return complain(r, "a row with too few columns", NULL, 0);
            Span text_span = {text_of, text_of + table->default_sizes[column]};
            if (!parse_sequence(r, text_span, &row->cells[column])) return false;
        }
    }
    return true;
}

/* "table NAME column; column=default; …" or "RULE parameter …:". */
static bool parse_header(Reader *r, Line *line) {
    Grammar *g = r->grammar;
    Span s = line->span, word;
    bool is_table = s.end - s.at > 6 && memcmp(s.at, "table ", 6) == 0;
    if (is_table) s.at += 6;
    if (!is_table && s.end[-1] != ':')
        return complain(r, "neither a table nor a rule (that ends in ':'):", s.at, s.end - s.at);
    if (!is_table) s.end--;
    if (!take_word(&s, &word)) return complain(r, "a name is missing", NULL, 0);
    int name = line->name = intern(r, word);
    if (name < 0) return false;
    if (g->names[name].rule || g->names[name].table)
        return complain(r, "defined twice:", word.at, word.end - word.at);
    if (!is_table) {
        Rule *rule = g->names[name].rule = new_rule(g, name, r->line);
        for (s = trimmed(s); s.at < s.end; s = trimmed(s)) {
            if (rule->parameter_count == MAX_ARGUMENTS)
                return complain(r, "too many parameters", NULL, 0);
            int parameter;
            if (!take_name(r, &s, &parameter)) return false;
            g->names[parameter].is_set = true;
            rule->parameters[rule->parameter_count++] = parameter;
        }
        return true;
    }
    Table *table = g->names[name].table = allocate_zeroed(1, sizeof *table);
    table->name = name;
    table->line = r->line;
    g->tables = reallocate(g->tables, g->table_count + 1, sizeof *g->tables);
    g->tables[g->table_count++] = table;
    Span column;
    while (take_part(&s, ';', &column)) {
        int i = table->column_count;
        if (i == MAX_COLUMNS) return complain(r, "too many columns", NULL, 0);
        if (!take_name(r, &column, &table->columns[i])) return false;
        if (column.at < column.end && *column.at == '=') {
            Span text = trimmed((Span){column.at + 1, column.end});
            table->defaults[i] = text.at;
            table->default_sizes[i] = (size_t)(text.end - text.at);
        }
        table->column_count++;
    }
    return true;
}

/* Splits the file into header lines (at the left edge) and body lines (indented). A line that is
 * indented by four spaces or more continues the one before it. Comments and empty lines go. */
static void split_lines(Grammar *g, const char *text) {
    char *out = g->text = allocate(strlen(text) + 1, 1);
    for (int number = 1; *text; number++) {
        size_t size = strcspn(text, "\n");
        Span line = trimmed((Span){text, text + size});
        size_t indent = (size_t)(line.at - text);
        text += size + (text[size] == '\n');
        if (line.at == line.end || *line.at == '#') continue;
        if (indent >= 4 && g->line_count > 0) {
            *out++ = ' ';
        } else {
            g->lines = reallocate(g->lines, g->line_count + 1, sizeof(Line));
            g->lines[g->line_count++] = (Line){{out, out}, number, indent == 0, -1};
        }
        memcpy(out, line.at, (size_t)(line.end - line.at));
        out += line.end - line.at;
        g->lines[g->line_count - 1].span.end = out;
    }
}

static int find_name(const Grammar *g, const char *text) {
    for (int i = 0; i < g->name_count; i++)
        if (g->names[i].size == strlen(text) && memcmp(g->names[i].text, text, strlen(text)) == 0)
            return i;
    return -1;
}

/* Pass 0 reads the headers, so that every name is known; pass 1 the rule "same", pass 2 the tables,
 * pass 3 the other rules. */
static bool parse_pass(Reader *r, int pass) {
    Grammar *g = r->grammar;
    Rule *rule = NULL;
    Table *table = NULL;
    int phrases = 0;
    for (int i = 0; i < g->line_count; i++) {
        Line *line = &g->lines[i];
        r->line = line->number;
        if (line->is_header) {
            if (pass == 0 && !parse_header(r, line)) return false;
            rule = g->names[line->name].rule;
            table = g->names[line->name].table;
            continue;
        }
        if (rule == NULL && table == NULL)
            return complain(r, "text before the first rule or table", NULL, 0);
        bool same = rule && rule->name == g->same_name;
        if (pass == 1 && same) {
            g->phrases = reallocate(g->phrases, phrases + 1, sizeof(Phrase));
            if (!parse_phrase(r, line->span, &g->phrases[phrases++])) return false;
        }
        if (pass == 2 && table && !parse_rows(r, table, line->span)) return false;
        if (pass == 3 && rule && !same && !parse_alternatives(r, rule, line->span)) return false;
    }
    if (pass == 1) g->phrase_count = phrases;
    return true;
}

static bool check(Reader *r) {
    Grammar *g = r->grammar;
    for (int i = 0; i < g->rule_count; i++) {
        r->line = g->rules[i]->line;
        if (g->rules[i]->name == g->same_name) continue;
        if (g->rules[i]->count == 0) return complain(r, "a rule without alternatives", NULL, 0);
    }
    for (int i = 0; i < g->table_count; i++) {
        r->line = g->tables[i]->line;
        if (g->tables[i]->count == 0) return complain(r, "a table without rows", NULL, 0);
    }
    for (int i = 0; i < g->name_count; i++) {
        Name *name = &g->names[i];
        r->line = name->read_line;
        if (name->read_line && !name->is_set)
            return complain(r, "neither a rule nor a variable:", name->text, name->size);
    }
    g->story_name = find_name(g, "story");
    g->introduce_name = find_name(g, "introduce");
    g->they_name = find_name(g, "they");
    g->self_name = find_name(g, "self");
    if (g->introduce_name >= 0 && (g->names[g->introduce_name].rule == NULL ||
                                   g->names[g->introduce_name].rule->parameter_count != 1))
        return complain(r, "'introduce' must be a rule with one parameter", NULL, 0);
    r->line = 1;
    if (g->story_name < 0 || g->names[g->story_name].rule == NULL)
        return complain(r, "no rule 'story'", NULL, 0);
    return true;
}

Grammar *grammar_parse(const char *text, const char *path, Error *error) {
    Grammar *g = allocate_zeroed(1, sizeof *g);
    g->path = string_copy(path);
    split_lines(g, text);
    Reader reader = {g, 0, error};
    bool fine = parse_pass(&reader, 0);
    g->same_name = find_name(g, "same");
    for (int pass = 1; fine && pass <= 3; pass++) fine = parse_pass(&reader, pass);
    if (fine && check(&reader)) return g;
    grammar_free(g);
    return NULL;
}

static void sequence_free(Sequence *sequence) {
    for (int i = 0; i < sequence->count; i++) free(sequence->nodes[i].sources);
    free(sequence->nodes);
}

void grammar_free(Grammar *g) {
    if (g == NULL) return;
    for (int i = 0; i < g->rule_count; i++) {
        for (int j = 0; j < g->rules[i]->count; j++) {
            sequence_free(&g->rules[i]->alternatives[j].sequence);
            free(g->rules[i]->alternatives[j].conditions);
        }
        free(g->rules[i]->alternatives);
        free(g->rules[i]);
    }
    for (int i = 0; i < g->table_count; i++) {
        Table *table = g->tables[i];
        for (int j = 0; j < table->count; j++) {
            for (int k = 0; k < table->column_count; k++) sequence_free(&table->rows[j].cells[k]);
            free(table->rows[j].cells);
        }
        free(table->rows);
        free(table);
    }
    free(g->rules);
    free(g->phrases);
    free(g->tables);
    free(g->lines);
    free(g->text);
    free(g->path);
    free(g);
}
