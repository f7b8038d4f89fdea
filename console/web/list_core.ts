// What pages use that show what they fetched, in one file for all of them; see core.ts.

import "./models/resource.ts";
import "./parts/connect/fetched.tsx";
import "./parts/copy_button.tsx";
import "./parts/states.tsx";
import "./parts/tabs.tsx";
