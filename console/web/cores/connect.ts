// What the pages of clients and targets share, in one file for all who use it; see ../core.ts.

import "../models/connect_calls.ts";
import "../models/every.ts";
import "../parts/connect/backend_state.tsx";
