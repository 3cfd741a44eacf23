// JupyterLab in a browser without a screen: opens a notebook, tells what it shows, changes its first code cell.
//
// In: the address of the notebook, how many cells it has, and what to type, if anything. Out: JSON on standard output.
import { createRequire } from "node:module";
const require = createRequire(process.env.PACKAGES + "/");
const chromium = (await import(require.resolve("@sparticuz/chromium"))).default;
const puppeteer = (await import(require.resolve("puppeteer-core"))).default;
const [address, cells, typed] = process.argv.slice(2);
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: process.env.CHROMIUM,
  headless: "shell",
  // Spoken to through pipes, it ends with us, whatever our end is.
  pipe: true,
  defaultViewport: { width: 1400, height: 2400 },
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(50000);
  const until = (condition, ...given) => page.waitForFunction(condition, {}, ...given);
  await page.goto(address);
  // An empty cell stands there until the file has been read.
  await until((cells) => document.querySelectorAll(".jp-Notebook .jp-Cell").length === cells, Number(cells));
  // Prose is laid out when there is time for it, outputs when what renders them is there.
  const file = new URL(address).pathname.split("/tree/")[1];
  const book = await page.evaluate(async (file) => (await (await fetch(`/api/contents/${file}`)).json()).content, file);
  await until((cells) => {
    const shown = [...document.querySelectorAll(".jp-Notebook .jp-Cell")];
    const drawn = (area) => area.innerText.trim() || area.querySelector("img");
    const ready = (cell, { cell_type, outputs = [] }) => {
      const which = cell_type === "markdown" ? ".jp-RenderedMarkdown" : ".jp-OutputArea-output";
      const areas = [...cell.querySelectorAll(which)];
      // Texts of one stream that follow each other are one.
      const goesOn = (output, before) => output.name && output.name === before?.name;
      const many = cell_type === "markdown" ? 1 : outputs.filter((one, at) => !goesOn(one, outputs[at - 1])).length;
      return areas.length === many && areas.every(drawn);
    };
    const images = [...document.querySelectorAll(".jp-Notebook .jp-Cell img")];
    return cells.every((cell, at) => ready(shown[at], cell)) && images.every((image) => image.complete);
  }, book.cells);
  if (typed) {
    await page.waitForSelector(".jp-Notebook-ExecutionIndicator[data-status=idle]");
    // The cell may be drawn anew meanwhile.
    const focused = () => {
      const editor = document.querySelector(".jp-CodeCell .cm-content");
      editor?.focus();
      return editor && document.activeElement === editor;
    };
    const holds = (typed) => document.querySelector(".jp-CodeCell .cm-content")?.innerText.includes(typed);
    const saves = (got) => got.request().method() === "PUT" && got.url().includes("/api/contents/") && got.ok();
    // A file that is read once more puts what it holds in place of what was typed, also of what was there already; a key
    // that comes meanwhile may save nothing.
    let tries = 0;
    let answer;
    do {
      if (++tries > 8) throw new Error("what was typed could not be saved");
      do {
        await until(focused);
        await page.keyboard.sendCharacter(typed);
      } while (!(await page.evaluate(holds, typed)));
      const saved = page.waitForResponse(saves, { timeout: 5000 }).catch(() => undefined);
      await page.keyboard.down("Control");
      await page.keyboard.press("s");
      await page.keyboard.up("Control");
      answer = await saved;
    } while (!answer || !(await page.evaluate(holds, typed)));
  }
  const told = await page.evaluate(() => {
    const texts = (which) => [...document.querySelectorAll(which)].map((one) => one.innerText.trim());
    return {
      cells: document.querySelectorAll(".jp-Notebook .jp-Cell").length,
      code: texts(".jp-CodeCell .cm-content"),
      prose: texts(".jp-MarkdownCell .jp-RenderedMarkdown"),
      numbers: texts(".jp-CodeCell .jp-InputPrompt"),
      outputs: texts(".jp-CodeCell .jp-OutputArea-output"),
      errors: document.querySelectorAll('[data-mime-type="application/vnd.jupyter.stderr"]').length,
      images: [...document.querySelectorAll(".jp-RenderedImage img")].map((image) => image.naturalWidth),
      dialogs: texts(".jp-Dialog-content"),
    };
  });
  console.log(JSON.stringify(told));
} finally {
  await browser.close();
}
