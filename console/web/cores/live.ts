// What is fed by the live stream, in one file for all who use it; see ../core.ts.

import "../models/live_models.ts";
