/* Supple: the library's stable interface in one header. */
#ifndef SUPPLE_SUPPLE_H
#define SUPPLE_SUPPLE_H

#include <supple/base.h>
#include <supple/body.h>
#include <supple/device.h>
#include <supple/model.h>
#include <supple/playback.h>
#include <supple/plugin.h>
#include <supple/scene.h>
#include <supple/sim.h>

#endif
