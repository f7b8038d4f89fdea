// Complete logins: two requests of one user. With a seed, the second request has the State of the challenge and the
// one-time code as its password. Without one, it is the first request again, as for a server that checks PAP.
#pragma once

#include <stdbool.h>

#include "options.h"

// Makes the peers send logins instead of single requests. The peers are open.
void use_logins(const Options *options);

// Sends the requests that are due: the second ones of logins in progress, then new logins up to the limit.
void top_up_logins(void);

// Whether each user has logged in, and no login is in progress.
bool are_logins_finished(void);

// Logins that end later do not count, because the measured time is over.
void end_logins(void);
