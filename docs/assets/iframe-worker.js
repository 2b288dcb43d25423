"use strict";

// The search works in a worker, and browsers start none for a page that is opened from disk. There
// a hidden frame does the same work, on the page's own thread. Material looks for this very name.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#frame.srcdoc = "<!doctype html><body></body>";
      this.#ready = new Promise((resolve) => {
        this.#frame.addEventListener("load", () => resolve(this.#start(url)), { once: true });
      });
      document.body.append(this.#frame);
    }

    // What is posted before the script has run waits for it, in order.
    postMessage(data) {
      this.#ready.then((inside) => {
        setTimeout(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
      });
    }

    terminate() {
      this.#frame.remove();
    }

    async #start(url) {
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...urls) => {
        for (const each of urls) await this.#run(inside, each);
      };
      await this.#run(inside, url);
      return inside;
    }

    #run(inside, url) {
      const script = inside.document.createElement("script");
      script.src = url;
      return new Promise((resolve, reject) => {
        script.addEventListener("load", resolve);
        script.addEventListener("error", () => reject(new Error(`${url} cannot be loaded`)));
        inside.document.body.append(script);
      });
    }
  };
  window.Worker = window.IFrameWorker;
}
