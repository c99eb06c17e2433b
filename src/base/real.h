/* The element type of tensors: float, or double in a build with REAL=double (gradient checks). */
#ifndef TINYLM_BASE_REAL_H
#define TINYLM_BASE_REAL_H

#ifdef REAL_IS_double
typedef double real;
#else
typedef float real;
#endif

#endif
