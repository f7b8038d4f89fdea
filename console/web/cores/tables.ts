// What pages use that show tables, in one file for all who use it; see ../core.ts.

import "../models/page_number.ts";
import "../parts/data_table.tsx";
import "../parts/pager.tsx";
