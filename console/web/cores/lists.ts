// What pages use that show what they fetched, in one file for all who use it; see ../core.ts.

import "../models/resource.ts";
import "../parts/audit_link.tsx";
import "../parts/connect/fetched.tsx";
import "../parts/panel.tsx";
import "../parts/states.tsx";
import "../models/deed.ts";
import "../parts/button.tsx";
