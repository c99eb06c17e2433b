/* The parts of ./inspect positions, one file per kind of scheme. subject->length positions are prepared. */
#ifndef TINYLM_COMMANDS_INSPECT_POSITIONS_H
#define TINYLM_COMMANDS_INSPECT_POSITIONS_H

#include "commands/inspect/subject.h"

/* What a scheme adds to an embedding of zeros: rows (length, d_model). */
void inspect_position_table(const Model *model, int64_t length, double *rows);

/* A row per position: what the scheme adds to the embedding, or for rope the sines and cosines it
 * rotates by. Draws the table, the similarities, the decay with distance, and for sines and
 * cosines the parts of p_mᵀ H p_n and the wavelengths. */
bool inspect_position_rows(const InspectSubject *subject, Error *error);
/* The wavelengths of rope, or of a sinusoidal table: before and after scaling or training. */
bool inspect_position_wavelengths(const InspectSubject *subject, Error *error);
/* What a relative scheme adds to the scores, per layer and head. */
bool inspect_position_bias(const InspectSubject *subject, Error *error);
/* The trained vectors of `shaw` by relative position. */
bool inspect_position_vectors(const InspectSubject *subject, Error *error);

#endif
