// What is said of a login, in one file for all who use it; see ../core.ts.

import "../parts/time_left.tsx";
import "../why_text.ts";
import "../words.ts";
