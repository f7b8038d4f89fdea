// The model of the user page, which its tabs and dialogs share: the user, the calls, and the display of results.

import type { Signal } from "@preact/signals";
import type { Receipt } from "../../../../scim/ports.ts";
import type { UserLoginView, UserView } from "../../../api/users/user_types.ts";
import { type ResultMessage, toFailureMessage, toResultMessage } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import type { Resource } from "../../app/resource.ts";
import type { ToastModel } from "../../app/toasts.tsx";
import { t } from "../../i18n/translate.ts";
import type { UserCalls } from "./user_calls.ts";

/** The properties of each tab and dialog. */
export interface UserPart {
  readonly models: Models;
  readonly user: UserView;
  readonly calls: UserCalls;
  readonly page: UserPageModel;
}

/** The properties of the factors tab, for a user who can log in. */
export interface FactorPart extends UserPart {
  readonly login: UserLoginView;
}

/** A change of the user: the call, and the texts for its result. */
interface UserAction {
  readonly call: () => Promise<{ readonly user: UserView | null; readonly receipt?: Receipt | null }>;
  readonly done: string;
  /** The title of a failure. */
  readonly failed: string;
  /** A failed undo is shown as a toast, because the page may be closed. */
  readonly isUndo?: boolean;
}

interface UserPageModel {
  /** Shows the user that a change returned. */
  put(user: UserView): void;
  /** Shows the result of a change, with the results of the backends. */
  said(text: string, receipt?: Receipt | null): void;
  /** Shows the failure of a change. */
  failed(title: string, fault: unknown): void;
  /** Shows a failed undo as a toast, because the page may be closed. */
  showUndoFailure(title: string, fault: unknown): void;
  /** Runs a change, and shows the user and the result. Resolves to `false` after a failure. */
  change(action: UserAction): Promise<boolean>;
  /** Retries the writes to one backend. */
  retry(backend: string): Promise<unknown>;
  /** Updates only the backends, so that input on the page remains. Never rejects. */
  refreshBackends(): Promise<void>;
}

interface PageModelDeps {
  readonly loaded: Resource<UserView>;
  readonly said: Signal<ResultMessage | null>;
  readonly calls: UserCalls;
  readonly toasts: ToastModel;
}

export function createUserPage({ loaded, said, calls, toasts }: PageModelDeps): UserPageModel {
  const page: UserPageModel = {
    put: (user) => loaded.set(user),
    said(text, receipt) {
      said.value = toResultMessage(text, receipt);
    },
    failed(title, fault) {
      said.value = toFailureMessage(title, fault);
    },
    showUndoFailure(title, fault) {
      toasts.show(toFailureMessage(title, fault).text, { tone: "bad" });
    },
    async change({ call, done, failed, isUndo = false }) {
      try {
        const { user, receipt } = await call();
        if (user !== null) page.put(user);
        page.said(done, receipt);
        return true;
      } catch (fault) {
        if (isUndo) page.showUndoFailure(failed, fault);
        else page.failed(failed, fault);
        return false;
      }
    },
    retry: (backend) =>
      page.change({
        call: () => calls.retry(backend),
        done: t("users.retried", { backend }),
        failed: t("users.not_retried", { backend }),
      }),
    async refreshBackends() {
      const before = loaded.state.peek();
      const now = await calls.backends().catch(() => null);
      // A user that was put in the meantime may be newer than this response.
      if (now === null || before.kind !== "ready" || loaded.state.peek() !== before) return;
      loaded.set({ ...before.value, ...now });
    },
  };
  return page;
}
