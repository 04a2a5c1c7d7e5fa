// Stands in for CUDA's header of this name, which vector_types.h includes and which comes only with nvcc.
#pragma once

#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __specialization_static static
#define __inline_hint__
#define CUDARTAPI
#define __host__
#define __device__
#define __forceinline__
