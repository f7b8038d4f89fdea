// Every page of the console at 320 px with touch, in dark colors.

import { pageMatrix } from "./pages/page_matrix.ts";

pageMatrix("narrow");
