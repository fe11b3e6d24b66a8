/* Headers that list what a client takes, with weights: Accept and Accept-Encoding (RFC 9110, 12.5).
 */
#ifndef KG_SERVE_ACCEPT_HEADER_H
#define KG_SERVE_ACCEPT_HEADER_H

/* The weight of a type or coding: that of its own element, else of TYPE/ *, else of * or * / *; 0
 * if there is none. */
double serve_accept_weight(const char *header, const char *name);

#endif
