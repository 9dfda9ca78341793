/* A clip as a film, by ffmpeg where it is installed. */
#ifndef SPL_SHOW_MOVIE_H
#define SPL_SHOW_MOVIE_H

#include "scene/writers/writer.h"

/* ".mp4": one clip, drawn like the contact sheet, from one side. */
extern const spl_format spl_format_mp4;

#endif
