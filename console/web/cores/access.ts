// What the parts of the access page share, in one file for all who use it; see ../core.ts.

import "../models/access_calls.ts";
import "../parts/access/access_table.tsx";
