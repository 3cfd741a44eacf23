"""IPython's profile: `ipython_config.py` and its kin, extensions, lines and files to run, `startup/`, IPython's flags.

In: the name of a profile, what the command line asks. Out: traits of the running shell, and steps to be done.
Invariants: a setting that is wrong costs itself alone, and is named; one that has no effect here is named, once as long
as there are no others. What IPython does before its prompt is done in IPython's order, by IPython's own names. Absent
on purpose: IPython's line editor, prompts, banner and history, which are the host's; jedi, which a second Tab asks.
"""

import glob
import os
import sys
from copy import deepcopy

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.shellapp import InteractiveShellApp
from traitlets.config.loader import (
    Config,
    JSONFileConfigLoader,
    KeyValueConfigLoader,
    LazyConfigValue,
    PyFileConfigLoader,
)

IGNORED_SECTIONS = (
    "TerminalInteractiveShell",
    "TerminalIPythonApp",
    "BaseIPythonApplication",
    "Application",
    "HistoryManager",
    "HistoryAccessor",
    "ProfileDir",
)
IGNORED_SETTINGS = {
    "InteractiveShell": (
        "autoindent banner1 banner2 enable_tip history_length history_load_length separate_in separate_out "
        "separate_out2 quiet loop_runner"
    ),
    "InteractiveShellApp": "code_to_run file_to_run gui module_to_run reraise_ipython_extension_failures",
}
UNREPORTED = {"Completer.use_jedi", "IPCompleter.use_jedi"}


class Profile:
    """`request`: what was asked; `startup`: runs files and tells what fails."""

    def __init__(self, home, request):
        self.startup, self.request = home, request
        self.engine = home.engine
        self.shell = home.engine.shell
        self.ipython_dir = self.shell.ipython_dir
        name = request.get("profile")
        self.location = name and os.path.join(self.ipython_dir, "profile_" + name)
        self.name = "IPython's profile `%s`" % name if name else "IPython's flags"
        self.app = InteractiveShellApp()

    def load(self):
        """Reads the settings and puts them in force."""
        self.find_profile()
        config = Config()
        for folder in self.config_folders():
            for loader, file in (
                (JSONFileConfigLoader, "ipython_config.json"),
                (PyFileConfigLoader, "ipython_config.py"),
            ):
                path = os.path.join(folder, file)
                if os.path.isfile(path):
                    try:
                        config.merge(loader(file, path=folder).load_config())
                    except KeyboardInterrupt:
                        raise
                    except BaseException as error:
                        self.startup.report_failure(path, error)
        config.merge(self.config_from_flags())
        if config:
            self.apply(config)

    def find_profile(self):
        if not self.location:
            return
        if os.path.isdir(self.location):
            if self.shell.profile_dir is not None and self.shell.profile_dir.location != self.location:
                self.shell.profile_dir = type(self.shell.profile_dir)(location=self.location)
        elif self.request["profile"] != "default":
            paths = glob.glob(os.path.join(glob.escape(self.ipython_dir), "profile_*"))
            there = ", ".join(sorted(os.path.basename(path)[8:] for path in paths))
            others = "the profiles there are " + there if there else "it holds no profiles"
            text = "there is no IPython profile `%s` in %s; %s"
            self.startup.notify(text % (self.request["profile"], self.ipython_dir, others))

    def config_folders(self):
        """The folders searched for settings, by rising precedence."""
        if not self.location:
            return []
        from IPython.core import application

        system, environment = (getattr(application, name, ()) for name in ("SYSTEM_CONFIG_DIRS", "ENV_CONFIG_DIRS"))
        return list(system)[::-1] + list(environment)[::-1] + [self.location]

    def config_from_flags(self):
        request, config = self.request, Config()
        if request.get("pdb"):
            config.InteractiveShell.pdb = True
        if request.get("matplotlib") is not None:
            config.InteractiveShellApp.matplotlib = request["matplotlib"] or "auto"
        if request.get("extensions"):
            config.InteractiveShellApp.extra_extensions = list(request["extensions"])
        options = list(request.get("options") or ())
        if options:
            try:
                config.merge(KeyValueConfigLoader(options).load_config())
            except Exception as error:
                self.startup.notify("`%s` cannot be set: %s" % (" ".join(options), error))
        return config

    def apply(self, config):
        """Sets what is set, on everything that there is; keeps the rest for what is made later."""
        merge(config, "TerminalInteractiveShell", "InteractiveShell", InteractiveShell)
        merge(config, "TerminalIPythonApp", "InteractiveShellApp", InteractiveShellApp)
        shell, wrong = self.shell, []
        editor = dict.get(config, "TerminalInteractiveShell", {}).pop("editor", None)
        if editor:
            shell.configured_editor = str(editor)
        unheeded = {"%s.%s" % (section, key) for section in IGNORED_SECTIONS for key in dict.get(config, section, ())}
        for section, keys in IGNORED_SETTINGS.items():
            found = dict.get(config, section, ())
            unheeded |= {"%s.%s" % (section, key) for key in keys.split() if key in found}
        skipped = unheeded | UNREPORTED
        colors = dict.get(config, "InteractiveShell", {}).get("colors")
        if colors is not None:
            skipped.add("InteractiveShell.colors")  # without a terminal there are none
        for target in self.list_targets():
            wrong += configure(target, config, skipped)
        for section in config:
            if section not in IGNORED_SECTIONS:
                shell.config.merge(Config({section: config[section]}))
        if colors is not None and self.startup.host.pty:
            self.startup.engine.colours = None  # chosen
            shell.run_line_magic("colors", str(colors))
        self.apply_late_settings(config)
        for line in dict.fromkeys(wrong):
            self.startup.notify(line)
        self.report_ignored(sorted(unheeded))

    def list_targets(self):
        """Everything that has settings, once."""
        shell = self.shell
        formatter = shell.display_formatter
        found = list(shell.configurables) + [self.app, shell.Completer] + list(formatter.formatters.values())
        found += [formatter.ipython_display_formatter, formatter.mimebundle_formatter]
        found += [each for each in shell.magics_manager.registry.values() if hasattr(each, "class_traits")]
        return list({id(each): each for each in found if each is not None}.values())

    def apply_late_settings(self, config):
        """Applies the settings that IPython reads only while it builds its shell."""
        shell, ours = self.shell, dict.get(config, "InteractiveShell", {})
        if "xmode" in ours:
            shell.InteractiveTB.set_mode(mode=shell.xmode)
        if "pdb" in ours:
            shell.call_pdb = shell.pdb
        if "cache_size" in ours:
            shell.displayhook.do_full_cache = int(shell.cache_size > 0)
            shell.displayhook.cache_size = max(0, shell.cache_size)
        if {"logstart", "logfile", "logappend"}.intersection(ours):
            shell.init_logstart()
        if "AliasManager" in config:
            for name, command in shell.alias_manager.user_aliases:
                shell.alias_manager.soft_define_alias(name, command)
        scripts = shell.magics_manager.registry.get("ScriptMagics")
        if scripts is not None and "ScriptMagics" in config:
            scripts._generate_script_magics()
            shell.magics_manager.register(scripts)
        if dict.get(config, "StoreMagics", {}).get("autorestore"):
            shell.extension_manager.load_extension("IPython.extensions.storemagic")
        if self.app.ignore_cwd and "" in sys.path:
            sys.path.remove("")

    def report_ignored(self, unheeded):
        """Names what has no effect here, unless that was said at an earlier start."""
        if not unheeded:
            return
        text = "IPython settings that have no effect here: %s" % ", ".join(unheeded)
        place = self.request.get("told")
        try:
            with open(place, encoding="utf-8") as file:
                if file.read() == text:
                    return
        except (OSError, TypeError, ValueError):
            pass
        self.startup.notify(text + " (`%ipycodex` lists those of this shell; this is shown only once)")
        try:
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        except (OSError, TypeError):
            pass  # said again at the next start

    def steps(self):
        """Start-up steps in IPython's order: figures, extensions, startup files, lines, files."""
        app, shell, home = self.app, self.shell, self.startup
        for magic, backend in (("pylab", app.pylab), ("matplotlib", app.matplotlib)):
            if backend:
                line = magic, str(backend)
                yield "--%s=%s" % line, lambda: shell.run_line_magic(*line)
                break
        for name in list(app.extensions) + list(app.extra_extensions):
            yield "the extension `%s`" % name, lambda: shell.extension_manager.load_extension(name)
        if self.location:
            for path in self.startup_files():
                yield path, lambda: home.run_file(path)
        for line in app.exec_lines:
            yield "exec_lines: `%s`" % line, lambda: home.run_cells(line, None, "`%s` of exec_lines" % line)
        for path in app.exec_files:
            found = next((each for each in (path, os.path.join(self.ipython_dir, path)) if os.path.isfile(each)), path)
            yield os.path.abspath(found), lambda: home.run_file(found)
        if app.hide_initial_ns:
            shell.user_ns_hidden.update(shell.user_ns)

    def startup_files(self):
        found = []
        named = os.environ.get("PYTHONSTARTUP")
        for folder in self.config_folders():
            folder = glob.escape(os.path.join(folder, "startup"))
            found += glob.glob(folder + "/*.py") + glob.glob(folder + "/*.ipy")
        return ([os.path.abspath(named)] if named and self.app.exec_PYTHONSTARTUP else []) + sorted(found)


def merge(config, section, into, owner):
    """Settings of a class that is not here, which it has from one that is."""
    found = dict.get(config, section)
    if found:
        known = owner.class_trait_names(config=True)
        for key in [key for key in found if key in known]:
            config[into].setdefault(key, found[key])
            del found[key]


def configure(target, config, skipped):
    """Sets the traits of one object; returns what is wrong, in words."""
    wrong = []
    traits = target.traits(config=True)
    for kind in reversed(type(target).__mro__):
        for key, value in dict.get(config, kind.__name__, {}).items():
            name = "%s.%s" % (kind.__name__, key)
            if name in skipped or isinstance(value, Config):
                continue
            try:
                if key not in traits:
                    wrong.append("IPython has no setting `%s`" % name)
                    continue
                if isinstance(value, LazyConfigValue):
                    value = value.get_value(getattr(target, key))
                elif hasattr(value, "get_value"):  # of the command line: what it means depends on the trait
                    value = value.get_value(traits[key])
                setattr(target, key, deepcopy(value))
            except Exception as error:
                wrong.append("`%s` cannot be set: %s" % (name, error))
    return wrong
