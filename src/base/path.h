/* Paths as strings. Each function returns a new one to be kg_freed, NULL if memory is short. */
#ifndef KG_BASE_PATH_H
#define KG_BASE_PATH_H

#include <stdbool.h>

/* folder/name */
char *kg__path_join(const char *folder, const char *name);

/* The folder that holds `path`: "." for a bare name. */
char *kg__path_parent(const char *path);

/* Without slashes at its end. */
char *kg__path_trim(const char *path);

/* The remains of a killed process are recognised by their name: that of what it was writing, a mark
 * and a random number. */
#define KG_PARTIAL ".partial-"   /* not in place yet */
#define KG_REPLACED ".replaced-" /* no longer in place */

/* `path` with a mark and a random number behind it; a name that would get too long is cut. */
char *kg__path_aside(const char *path, const char *mark);

/* Whether `name` could be the name that kg__path_aside made of the name `of`. */
bool kg__path_is_aside(const char *name, const char *of, const char *mark);

/* `path` without slashes at its end; a symbolic link is resolved. */
char *kg__path_resolve(const char *path);

/* What `path` names now, whatever becomes of links and of the working directory; if that cannot be
 * found out, `path` without slashes at its end. */
char *kg__path_absolute(const char *path);

#endif
