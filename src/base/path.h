/* Paths as strings. Each function returns a new one to be kg_freed, NULL if memory is short. */
#ifndef KG_BASE_PATH_H
#define KG_BASE_PATH_H

/* folder/name */
char *kg_path_join(const char *folder, const char *name);

/* The folder that holds `path`: "." for a bare name. */
char *kg_path_parent(const char *path);

/* Without slashes at its end. */
char *kg_path_trim(const char *path);

/* `path` with ".partial-" and a random number behind it; a name that is too long for that is cut.
 */
char *kg_path_partial(const char *path);

#endif
