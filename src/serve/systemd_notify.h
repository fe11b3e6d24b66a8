/* Telling systemd about the state of the service: sd_notify, which is a datagram to the socket that
 * NOTIFY_SOCKET names. */
#ifndef KG_SERVE_SYSTEMD_NOTIFY_H
#define KG_SERVE_SYSTEMD_NOTIFY_H

/* Sends a state, as in "READY=1"; does nothing where nobody waits for it. */
void serve_notify(const char *state);

#endif
