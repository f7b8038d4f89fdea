// Starts the account page: sign-in without a session, otherwise the account of the user.

import { render } from "preact";
import { language, loadCatalogue, restoreLanguage, switchLanguage, t } from "../web/i18n/translate.ts";
import { type AccountModels, createAccountModels } from "./account_models.ts";
import { useEffect } from "preact/hooks";
import { Icon, Logo } from "../web/components/icons.tsx";
import { Skeleton } from "../web/components/alert.tsx";
import { ToastRegion } from "../web/app/toasts.tsx";
import { AccountView } from "./components/account_view.tsx";
import { AccountSignIn, SessionEndWarning, SignInAgain, SignInUnavailable } from "./components/sign_in.tsx";
import { SelectField } from "../web/components/field.tsx";
import { type Theme, THEMES } from "../web/app/preferences.ts";
import { type Language, LANGUAGE_NAMES, LANGUAGES } from "../web/i18n/catalogue.ts";

function AccountApp({ models }: { models: AccountModels }) {
  const { session } = models;
  const state = session.state.value;
  const me = state.kind === "ready" ? state.value.me : null;
  const isInside = me !== null && session.link.value === "";
  const spoken = language.value;
  useEffect(() => {
    document.title = `${t("account.title")} · Countersign`;
  }, [spoken]);
  return (
    <div class="me">
      <header class="me-head">
        <span class="wordmark">
          <Logo />
          Countersign
        </span>
        {isInside && <SignOut models={models} />}
      </header>
      <main class={isInside ? "me-main" : "me-main me-outside"}>
        {state.kind === "loading" && <Skeleton rows={4} />}
        {state.kind === "failed" && <SignInUnavailable models={models} message={state.message} />}
        {state.kind === "ready" && (
          isInside
            ? <AccountView key={me.userName} models={models} me={me} />
            : <AccountSignIn models={models} answer={state.value} />
        )}
      </main>
      <Footer models={models} showsPhonePage={state.kind === "ready" && state.value.phoneUsers.length > 0} />
      {isInside && <SessionEndWarning models={models} />}
      {isInside && session.isInterrupted.value && <SignInAgain models={models} me={me} />}
      <ToastRegion models={models} />
    </div>
  );
}

function Footer({ models, showsPhonePage }: { models: AccountModels; showsPhonePage: boolean }) {
  const { preferences, toasts } = models;
  return (
    <footer class="me-foot">
      {showsPhonePage && <a href="/device">{t("common.phone_page")}</a>}
      <div class="me-appearance">
        <SelectField
          id="me-language"
          label={t("common.language")}
          value={language.value}
          options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
          onChoose={(next) =>
            void switchLanguage(next as Language).catch(() =>
              toasts.show(t("errors.offline"), { tone: "bad" })
            )}
        />
        <SelectField
          id="me-theme"
          label={t("common.theme")}
          value={preferences.theme.value}
          options={THEMES.map((value) => ({ value, label: t(`account.theme_${value}`) }))}
          onChoose={(next) => preferences.setTheme(next as Theme)}
        />
      </div>
    </footer>
  );
}

function SignOut({ models }: { models: AccountModels }) {
  const signOut = async () => {
    const problem = await models.session.signOut();
    if (problem !== null) models.toasts.show(problem, { tone: "bad" });
  };
  return (
    <button type="button" class="button button-plain" onClick={() => void signOut()}>
      <Icon name="log-out" />
      {t("common.sign_out")}
    </button>
  );
}

restoreLanguage();
const messages = loadCatalogue();
const models = createAccountModels(window);
// `load` stores its failures in the model.
void models.session.load();
try {
  await messages;
} catch (_notToBeHad) {
  // Without messages, the page shows their keys.
}
const root = document.getElementById("app");
if (root !== null) render(<AccountApp models={models} />, root);
// After the first page. Without this file, the page works, too.
void import("../web/app/focus_keeper.ts").then(({ keepFocus }) => keepFocus(document), () => undefined);
