// What lists of people and groups share, in one file for all who use it; see ../core.ts.

import "../models/group_calls.ts";
import "../models/selection.ts";
