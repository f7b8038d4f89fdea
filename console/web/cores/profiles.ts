// What is done to a profile, in one file for all who use it; see ../core.ts.

import "../models/user_form.ts";
import "../parts/people/user_fields.tsx";
