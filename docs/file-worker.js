// Search works in pages opened from disk, too: browsers allow no Worker there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.tabIndex = -1;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.onmessage?.(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.onload = resolve;
        script.onerror = reject;
        script.src = new URL(url, location).href;
        inside.document.head.append(script);
      });
      this.ready.catch((error) => this.onerror?.(error));
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.onmessage?.(new MessageEvent("message", { data })), () => {});
    }

    terminate() {
      this.frame.remove();
    }
  };
}
