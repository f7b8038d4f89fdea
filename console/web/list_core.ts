// What pages with lists and forms use, in one file for all of them; see core.ts.

import "./models/resource.ts";
import "./parts/dialog.tsx";
import "./parts/inputs.tsx";
import "./parts/states.tsx";
