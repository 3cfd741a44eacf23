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
  await page.goto(address);
  // An empty cell stands there until the file has been read.
  await page.waitForFunction(
    (cells) => document.querySelectorAll(".jp-Notebook .jp-Cell").length === cells,
    { timeout: 60000 },
    Number(cells),
  );
  await new Promise((done) => setTimeout(done, 1500));
  // Prose is laid out when there is time for it.
  await page.waitForFunction(() => {
    const prose = [...document.querySelectorAll(".jp-MarkdownCell .jp-RenderedMarkdown")];
    return prose.every((one) => one.innerText.trim() || one.querySelector("img"));
  }, { timeout: 30000 });
  const pause = (time) => new Promise((done) => setTimeout(done, time));
  if (typed) {
    // A notebook that names no kernel is asked for one, some time after it is shown.
    for (let tries = 0; ; tries++) {
      const asked = await page.$(".jp-Dialog-footer .jp-mod-reject");
      if (asked) await asked.click();
      await page.click(".jp-CodeCell .cm-content");
      await pause(1000);
      const writes = () => document.activeElement?.classList.contains("cm-content");
      if (!(await page.$(".jp-Dialog")) && (await page.evaluate(writes))) break;
      if (tries > 20) throw new Error("the cell cannot be typed into");
    }
    await page.keyboard.type(typed);
    await page.keyboard.down("Control");
    await page.keyboard.press("s");
    await page.keyboard.up("Control");
    // Saving has no sign of its own; who asked looks at the file.
    await pause(2500);
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
