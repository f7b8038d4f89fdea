// What is said of a login, in one file for all who use it; see ../core.ts.

import "../parts/live/explanation_text.tsx";
import "../parts/time_left.tsx";
import "../words.ts";
