// The frame, and what nearly every page uses. The build makes each page import this, so that it all falls into one file
// instead of a dozen small ones.

import "preact/hooks";
import "@preact/signals";
import "./access_words.ts";
import "./api_client.ts";
import "./app.tsx";
import "./format.ts";
import "./models/deed.ts";
import "./models/models.ts";
import "./parts/button.tsx";
import "./parts/late.tsx";
import "./parts/note.tsx";
import "./parts/page_bar.tsx";
import "./parts/search_box.tsx";
import "./parts/status.tsx";
import "./parts/symbol.tsx";
import "./parts/time.tsx";
import "./places.ts";
import "./preferences.ts";
import "./remote.ts";
import "./shortcuts.ts";
import "./user_href.ts";
import "./i18n/translate.ts";
