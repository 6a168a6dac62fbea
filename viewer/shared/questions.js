import { present } from "../engine/present.js";

/** The requests of a part about the file that it shows: none is sent twice, and only the newest reply is used. */
export class PartQuestions {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.engine = app.engine();
    /** @type {Map<string, string>} by kind, what was asked last */
    this.asked = new Map();
    this.hasAskedMarks = false;
  }

  /** Called for another file or device: every request may be sent again. */
  forget() {
    this.engine = this.app.engine();
    this.asked.clear();
    this.hasAskedMarks = false;
  }

  isOfAnotherFile() {
    return this.app.engine() !== this.engine;
  }

  /**
   * True if this request differs from the last one of its kind.
   * @param {string} kind @param {unknown} params
 */
  isNew(kind, params) {
    const text = JSON.stringify([this.app.store.state.file, params]);
    if (this.asked.get(kind) === text) return false;
    this.asked.set(kind, text);
    return true;
  }

  /**
   * After a failure the same request may be sent again.
   * @param {string} kind
   */
  mayAskAgain(kind) {
    this.asked.delete(kind);
  }

  /**
   * The newest reply, or null, also if another file was chosen meanwhile.
   * @template {MethodName} M
   * @param {string} slot @param {M} method @param {Params} params
   * @returns {Promise<ReplyOf[M]|null>}
 */
  async latest(slot, method, params) {
    const { engine } = this;
    const reply = await present(engine, "engine").latest(slot, method, params);
    return engine === this.engine ? reply : null;
  }

  /**
   * Passes on the marks of the file once, null if there are none.
   * @param {(marks: Replies.MarksReply|null) => void} take
   */
  async askMarks(take) {
    if (this.hasAskedMarks) return;
    this.hasAskedMarks = true;
    try {
      take(await this.app.marks());
    } catch {
      take(null);
    }
  }
}
