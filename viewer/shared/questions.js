/** What a part has asked of the file that it shows: no question twice, and only the newest answer counts. */
export class PartQuestions {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.forget();
  }

  /** Another file, or another device of it: all may be asked again. */
  forget() {
    this.engine = this.app.engine();
    this.asked = new Map();
    this.hasAskedMarks = false;
  }

  isOfAnotherFile() {
    return this.app.engine() !== this.engine;
  }

  /**
   * True where this is another question than the last one of its kind.
   * @param {string} kind @param {unknown} params
 */
  isNew(kind, params) {
    const text = JSON.stringify([this.app.store.state.file, params]);
    if (this.asked.get(kind) === text) return false;
    this.asked.set(kind, text);
    return true;
  }

  /**
   * After a failure: the same question is a new one.
   * @param {string} kind
   */
  mayAskAgain(kind) {
    this.asked.delete(kind);
  }

  /**
   * The newest answer, or null: also where another file has been chosen meanwhile.
   * @template {MethodName} M
   * @param {string} slot @param {M} method @param {Params} params
   * @returns {Promise<ReplyOf[M]|null>}
 */
  async latest(slot, method, params) {
    const { engine } = this;
    const reply = await engine.latest(slot, method, params);
    return engine === this.engine ? reply : null;
  }

  /**
   * Hands over the marks of the file once, null where there are none.
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
