// Puts a question to the person where the transcript can't: as a notification or a dialog, while it is out of sight.

import * as vscode from 'vscode';
import { spoken } from '../core/spoken.ts';
import type { Session, OpenQuestion } from '../host/session.ts';
import type { Sessions } from '../host/sessions.ts';
import type { TranscriptView } from './view.ts';

interface Choice extends vscode.MessageItem { optionId?: string; shows?: true; reasons?: true }

const ORDER = ['allowOnce', 'allowSession', 'allowWorkspace', 'deny', 'stop'];

export class Questions implements vscode.Disposable {
  #sessions: Sessions;
  #view: TranscriptView;
  #registration: vscode.Disposable;

  constructor(sessions: Sessions, view: TranscriptView) {
    this.#sessions = sessions;
    this.#view = view;
    this.#registration = sessions.onDidAsk(({ session, question }) => void this.#put(session, question));
  }

  dispose(): void {
    this.#registration.dispose();
  }

  /** Answer the shown session's last open question, or else the last one of all, by the kind of its option. */
  answer(kind: 'allowOnce' | 'deny'): void {
    const open = this.#open();
    const option = open?.question.ask.options.find((each) => each.kind === kind);
    if (open && option) open.question.settle({ optionId: option.id });
  }

  #open(): { session: Session; question: OpenQuestion } | undefined {
    const all = this.#sessions.questions;
    return all.findLast(({ session }) => session === this.#sessions.current) ?? all.at(-1);
  }

  async #put(session: Session, question: OpenQuestion): Promise<void> {
    if (this.#view.visible && session === this.#sessions.current) return;
    const how = vscode.workspace.getConfiguration('agentHost.view').get<string>('askWhenHidden');
    if (how === 'none') return;
    const { title, detail, options, allowsReason } = question.ask;
    const offered = [...options].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    const choices: Choice[] = [
      { title: 'Show', shows: true },
      ...offered.map(({ id, title: label, kind }): Choice => ({ title: label, optionId: id, ...(kind === 'deny' && how === 'modal' ? { isCloseAffordance: true } : {}) })),
    ];
    if (allowsReason && options.some(({ kind }) => kind === 'deny')) choices.push({ title: 'Deny, saying why…', reasons: true });
    const chosen = how === 'modal'
      ? await vscode.window.showWarningMessage(title, { modal: true, detail: spoken(detail) }, ...choices)
      : await vscode.window.showWarningMessage(title, ...choices);
    await this.#chosen(session, question, chosen);
  }

  async #chosen(session: Session, question: OpenQuestion, chosen: Choice | undefined): Promise<void> {
    // Closing a notification answers nothing: the question stays in the transcript and in the status bar.
    if (!chosen) return;
    if (chosen.optionId) return question.settle({ optionId: chosen.optionId });
    if (chosen.reasons) {
      const reason = await vscode.window.showInputBox({ title: 'Why not?', prompt: 'The agent is told.', ignoreFocusOut: true });
      const deny = question.ask.options.find(({ kind }) => kind === 'deny');
      if (reason !== undefined && deny) return question.settle({ optionId: deny.id, reason });
    }
    this.#sessions.show(session);
    await this.#view.focus();
  }
}
