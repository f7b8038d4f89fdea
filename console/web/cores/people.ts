// What the pages of people, groups and devices share, in one file for all who use it; see ../core.ts.

import "../models/said.ts";
import "../models/user_calls.ts";
import "../parts/people/user_states.tsx";
