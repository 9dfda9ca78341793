/* The contact sheet: a clip at a glance, as one PNG. */
#ifndef SPL_SHOW_SHEET_H
#define SPL_SHOW_SHEET_H

#include "scene/writers/writer.h"

/* ".png": up to eight evenly spaced frames of each clip side by side, one row a view, clips below each other. */
extern const spl_format spl_format_png;

#endif
