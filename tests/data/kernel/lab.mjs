// JupyterLab in a browser without a screen, with our kernel: a user who types, runs, is asked, interrupts, restarts.
//
// In: the address of a notebook with one empty cell; a folder for pictures; a file that is made when the first part of
// an answer stands there. Out: what was seen, as JSON. Each wait is for something that is shown.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
const require = createRequire(process.env.PACKAGES + "/");
const chromium = (await import(require.resolve("@sparticuz/chromium"))).default;
const puppeteer = (await import(require.resolve("puppeteer-core"))).default;
const [address, folder, seen] = process.argv.slice(2);
// Spoken to through pipes, it ends with us, whatever our end is.
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: process.env.CHROMIUM,
  headless: "shell",
  pipe: true,
  defaultViewport: { width: 900, height: 3000 },
});
const page = await browser.newPage();
const PATIENCE = 60000;
page.setDefaultTimeout(PATIENCE);
const told = {};
const wire = await page.createCDPSession();
await wire.send("Network.enable");

const IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]";
const until = (condition, ...given) => page.waitForFunction(condition, {}, ...given);
const count = () => page.$$eval(".jp-Notebook .jp-Cell", (all) => all.length);
const nth = (index, which = "") => `.jp-Notebook .jp-Cell[data-windowed-list-index="${index}"] ${which}`;
const shown = (index) => page.$eval(nth(index), (cell) => cell.querySelector(".jp-OutputArea")?.innerText.trim() ?? "");
/** Until the output of a cell has this. */
const shows = (index, part) => until(
  (which, part) => document.querySelector(which)?.innerText.includes(part), nth(index, ".jp-OutputArea"), part);
const press = async (key, ...held) => {
  for (const one of held) await page.keyboard.down(one);
  await page.keyboard.press(key);
  for (const one of held) await page.keyboard.up(one);
};

/** Writes into the last cell and runs it; its index. `keys`: key by key, as fingers do. */
const start = async (text, keys = false) => {
  const index = (await count()) - 1;
  await page.click(nth(index, ".cm-content"));
  await page.waitForSelector(nth(index, ".cm-content:focus"));
  await (keys ? page.keyboard.type(text) : page.keyboard.sendCharacter(text));
  await press("Enter", "Shift");
  await until((which) => document.querySelector(which), nth(index + 1));
  return index;
};
/** Until a cell has run. */
const ran = (index) => until(
  (which) => /^\[\d+\]:$/.test(document.querySelector(which)?.innerText.trim()), nth(index, ".jp-InputPrompt"));
const run = async (text, keys) => {
  const index = await start(text, keys);
  await ran(index);
  return index;
};
/** What a cell shows once this is part of it: an output may be drawn after the number beside its cell. */
const result = async (index, part) => {
  await shows(index, part);
  return shown(index);
};
/** Does something, and waits until the kernel has introduced itself: what is run before that is lost. */
const greeted = async (act) => {
  const late = (_, fail) => setTimeout(() => fail(new Error("the kernel does not introduce itself")), PATIENCE).unref();
  const said = new Promise((done) => wire.on("Network.webSocketFrameReceived", function look({ response }) {
    if (Buffer.from(response.payloadData, "base64").includes('"kernel_info_reply"')) {
      wire.off("Network.webSocketFrameReceived", look);
      done();
    }
  }));
  await act();
  await Promise.race([said, new Promise(late)]);
  await page.waitForSelector(IDLE);
};
/** A picture of the cells from one to another, as they are; with a font for signs, as browsers of people have one. */
const picture = async (name, from, to) => {
  const font = readFileSync(require.resolve("@fontsource/noto-emoji/files/noto-emoji-emoji-400-normal.woff2"));
  const content = `@font-face { font-family: Signs; src: url(data:font/woff2;base64,${font.toString("base64")}); }
    .jp-RenderedHTMLCommon { font-family: var(--jp-content-font-family), Signs; }`;
  await page.addStyleTag({ content });
  await page.evaluate(() => document.fonts.load("14px Signs", "\u{1f527}"));
  const boxes = [await (await page.$(nth(from))).boundingBox(), await (await page.$(nth(to))).boundingBox()];
  const y = boxes[0].y - 4;
  const clip = { x: boxes[0].x, y, width: boxes[0].width, height: boxes[1].y + boxes[1].height - y + 4 };
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${folder}/${name}.png`, clip });
};
const save = async () => {
  await press("s", "Control");
  await until(() => !document.querySelector(".jp-mod-dirty"));
};

let doing = "open";
const doings = {
  async open() {
    await greeted(() => page.goto(address));
  },
  async type() {
    told.typed = await result(await run("x = 6 * 7\nx", true), "42");
  },
  async plot() {
    const index = await run(
      "import numpy as np, matplotlib.pyplot as plt\nt = np.linspace(0, 10, 300)\ny = np.exp(-t / 4) * np.cos(3 * t)\n" +
      "plt.figure(figsize=(6, 2.6)); plt.plot(t, y); plt.grid(alpha=.3)");
    await until((which) => document.querySelector(which)?.naturalWidth > 100, nth(index, ".jp-RenderedImage img"));
    told.plot = index;
  },
  async prompt() {
    const index = await start(".What does this plot show, and where are its peaks?");
    await shows(index, "I look at the picture");
    told.running = await page.$eval(nth(index, ".jp-InputPrompt"), (prompt) => prompt.innerText.trim());
    writeFileSync(seen, "");
    await ran(index);
    await until((which) => document.querySelector(which), nth(index, ".jp-RenderedMarkdown mjx-container"));
    told.answer = await shown(index);
    told.folded = await page.$$eval(nth(index, "details summary"), (all) => all.map((one) => one.innerText));
    told.offered = await page.$eval(nth(index + 1, ".cm-content"), (cell) => cell.innerText);
    told.answered = index;
    await picture("notebook", told.plot, index + 1);
    await press("Enter", "Shift");
  },
  async permission() {
    const index = await start(".How many lines has data.csv?");
    told.asked = [];
    // The line to type in and what is asked about are drawn one after the other.
    for (const [what, about] of [["Run this in your session?", "len(rows)"], ["Run this command?", "wc -l data.csv"]]) {
      await shows(index, what);
      await shows(index, about);
      await page.waitForSelector(nth(index, ".jp-Stdin-input:focus"));
      told.asked.push(await shown(index));
      if (told.asked.length === 1) await picture("permission", index, index);
      await page.keyboard.type("y");
      await page.keyboard.press("Enter");
    }
    await ran(index);
    told.permitted = await result(index, "3 lines");
    await picture("permitted", index, index);
    told.rows = await page.$eval(nth(index, ".jp-OutputArea-executeResult .jp-OutputArea-output"), (it) => it.innerText.trim());
  },
  async widget() {
    const index = await run("import ipywidgets\nslider = ipywidgets.IntSlider(3, description='n'); slider");
    await page.waitForSelector(nth(index, ".widget-slider .noUi-handle"));
    await page.focus(nth(index, ".widget-slider .noUi-handle"));
    await page.keyboard.press("ArrowRight");
    await until((which) => document.querySelector(which)?.innerText === "4", nth(index, ".widget-readout"));
    told.slider = await result(await run("slider.value"), "4");
    told.widget = index;
  },
  async interact() {
    const index = await run("ipywidgets.interact(lambda n: print('n is', n), n=3);");
    await shows(index, "n is 3");
    await page.focus(nth(index, ".widget-slider .noUi-handle"));
    await page.keyboard.press("ArrowRight");
    await shows(index, "n is 4");
    told.interact = await shown(index);
  },
  async progress() {
    const index = await run("from tqdm.notebook import tqdm\nfor _ in tqdm(range(30)): pass");
    await page.waitForSelector(nth(index, ".progress-bar-success"));
    told.progress = await result(index, "30/30");
  },
  async canvas() {
    const index = await run("%matplotlib widget\nplt.figure(figsize=(3, 2)); plt.plot([1, 4, 2]);");
    // Something is drawn on it.
    await until((which) => [...document.querySelectorAll(which)].some((canvas) => {
      const drawn = canvas.width && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return drawn && drawn.some((byte, at) => at % 4 < 3 && byte > 0 && byte < 200);
    }), nth(index, ".jupyter-matplotlib canvas"));
    // It follows the pointer: the figure in the interpreter is told of it.
    const box = await (await page.$(nth(index, ".jupyter-matplotlib canvas"))).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await shows(index, "(x, y) = (");
    told.canvas = true;
  },
  async attachment() {
    // A picture pasted into a text cell stays in the notebook: nothing of that cell is sent to the kernel.
    const sent = [];
    const keep = ({ response }) => sent.push(Buffer.from(response.payloadData, "base64").toString("latin1"));
    const index = (await count()) - 1;
    await page.click(nth(index, ".cm-content"));
    await page.waitForSelector(nth(index, ".cm-content:focus"));
    await press("Escape");
    await press("m");
    await until((which) => document.querySelector(which)?.classList.contains("jp-MarkdownCell"), nth(index));
    await press("Enter");
    await page.waitForSelector(nth(index, ".cm-content:focus"));
    wire.on("Network.webSocketFrameSent", keep);
    await page.$eval(nth(index, ".cm-content"), (content) => {
      const dot = atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([Uint8Array.from(dot, (c) => c.charCodeAt(0))], "dot.png", { type: "image/png" }));
      content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    });
    await until((which) => document.querySelector(which).innerText.includes("attachment:"), nth(index, ".cm-content"));
    await press("Enter", "Shift");
    await until((which) => document.querySelector(which)?.naturalWidth === 1, nth(index, ".jp-RenderedMarkdown img"));
    told.pasted = await result(await run("'behind it'"), "behind it");
    wire.off("Network.webSocketFrameSent", keep);
    told.requests = sent.filter((one) => one.includes('"execute_request"')).length;
    told.attached = sent.filter((one) => one.includes("attachment") || one.includes("dot.png")).length;
  },
  async interrupt() {
    const index = await start("import time; print('on'); time.sleep(600)");
    await shows(index, "on");
    await page.click('[data-command="notebook:interrupt-kernel"]');
    await ran(index);
    told.interrupted = await result(index, "KeyboardInterrupt");
  },
  async reload() {
    await save();
    await greeted(() => page.goto(address));
    told.reloaded = await count();
    // What the widgets are is asked from the interpreter again.
    await until((which) => document.querySelector(which)?.innerText === "4", nth(told.widget, ".widget-readout"));
    told.still = await result(await run("x + slider.value"), "46");
  },
  async restart() {
    await page.click('[data-command="notebook:restart-kernel"]');
    await page.waitForSelector(".jp-Dialog .jp-mod-accept");
    await greeted(() => page.click(".jp-Dialog .jp-mod-accept"));
    await until(() => !document.querySelector(".jp-Dialog"));
    told.restarted = await result(await run("x"), "NameError");
    await save();
  },
};
try {
  for (doing of Object.keys(doings)) {
    const began = Date.now();
    await doings[doing]();
    (told.took ??= {})[doing] = Date.now() - began;
  }
  console.log(JSON.stringify(told));
} catch (error) {
  await page.screenshot({ path: `${folder}/failed.png` });
  const cells = await page.$$eval(".jp-Notebook .jp-Cell", (all) => all.map((cell) => cell.innerText));
  console.error(`${doing}: ${error.stack}`, told, cells.slice(-3));
  process.exitCode = 1;
} finally {
  await browser.close();
}
