/* Search wants a worker, and a page opened as a plain file may start none: a hidden frame, in the
   same page and from the same files, does the work instead. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      const message = new MessageEvent("message", { data });
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(message));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
